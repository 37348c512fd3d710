import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync, cpSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { root } from './paths.mjs';

// A checkout of its own: the lock of this one may be held.
const checkout = mkdtempSync(join(tmpdir(), 'atelier-lock-'));
cpSync(join(root, 'scripts', 'setup'), join(checkout, 'scripts', 'setup'), { recursive: true });
mkdirSync(join(checkout, '.cache'));
afterAll(() => rmSync(checkout, { recursive: true, force: true }));

const holder = (work: string) => [
  '--input-type=module',
  '-e',
  `import { withLock } from ${JSON.stringify(join(checkout, 'scripts/setup/lock.mjs'))};
   await withLock(async () => { console.log('in'); ${work} });`,
];

test('a second set-up waits for the first, and says for which process', async () => {
  const first = spawn(
    process.execPath,
    holder('await new Promise((end) => process.stdin.once("data", end)); process.stdin.unref();'),
  );
  await once(first.stdout, 'data');
  const second = spawn(process.execPath, holder(''));
  const [told] = await once(second.stderr, 'data');
  expect(String(told)).toContain(`process ${first.pid}`);
  first.stdin.end('go');
  const [entered] = await once(second.stdout, 'data');
  expect(String(entered)).toBe('in\n');
  expect((await once(second, 'close'))[0]).toBe(0);
});

test('a set-up that was killed holds nothing, whoever has its number now', () => {
  const dead = spawnSync(process.execPath, ['-e', '']).pid;
  for (const left of [`${dead} 1`, `${process.pid} 1`, `${process.pid}`, '']) {
    writeFileSync(join(checkout, '.cache', 'setup.lock'), left);
    const { stdout, status } = spawnSync(process.execPath, holder(''), { encoding: 'utf8' });
    expect([stdout, status]).toEqual(['in\n', 0]);
    expect(() => readFileSync(join(checkout, '.cache', 'setup.lock'))).toThrow('ENOENT');
  }
});

test('a command that outlives its killed set-up keeps the next one waiting', async () => {
  const command = `console.log('pid ' + process.pid); setInterval(() => {}, 1000);`;
  const first = spawn(
    process.execPath,
    holder(
      `const { run } = await import(${JSON.stringify(join(checkout, 'scripts/setup/exec.mjs'))});
       await run(process.execPath, ['-e', ${JSON.stringify(command)}]);`,
    ),
  );
  const [, pid] = /pid (\d+)/.exec(String((await once(first.stderr, 'data'))[0]))!;
  first.kill('SIGKILL');
  await once(first, 'exit');
  const second = spawn(process.execPath, holder(''));
  const [told] = await once(second.stderr, 'data');
  expect(String(told)).toContain(`process ${pid}`);
  process.kill(Number(pid), 'SIGKILL');
  expect((await once(second, 'close'))[0]).toBe(0);
});
