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

test('a set-up that was killed holds nothing', () => {
  const dead = spawnSync(process.execPath, ['-e', '']).pid;
  writeFileSync(join(checkout, '.cache', 'setup.lock'), String(dead));
  const { stdout, status } = spawnSync(process.execPath, holder(''), { encoding: 'utf8' });
  expect([stdout, status]).toEqual(['in\n', 0]);
  expect(() => readFileSync(join(checkout, '.cache', 'setup.lock'))).toThrow('ENOENT');
});
