import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { root } from './paths.mjs';
import { parseLock } from './wheels.mjs';

const checkout = mkdtempSync(join(tmpdir(), 'atelier-wheels-'));
cpSync(join(root, 'scripts', 'setup'), join(checkout, 'scripts', 'setup'), { recursive: true });
afterAll(() => rmSync(checkout, { recursive: true, force: true }));

/** A folder with one small wheel, as pip’s only source of packages. */
function source(): { links: string; hash: string } {
  const links = join(checkout, 'links');
  mkdirSync(links, { recursive: true });
  const wheel = join(links, 'planted-1.0-py3-none-any.whl');
  const script = `import sys, zipfile
z = zipfile.ZipFile(sys.argv[1], 'w')
z.writestr('planted/lib.txt', 'contents')
z.writestr('planted-1.0.dist-info/METADATA', 'Metadata-Version: 2.1\\nName: planted\\nVersion: 1.0\\n')
z.writestr('planted-1.0.dist-info/WHEEL', 'Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n')
z.writestr('planted-1.0.dist-info/RECORD', '')
z.close()`;
  spawnSync('python3', ['-c', script, wheel]);
  return { links, hash: createHash('sha256').update(readFileSync(wheel)).digest('hex') };
}

const { links, hash } = source();

const env = { ...process.env, PIP_NO_INDEX: '1', PIP_FIND_LINKS: links, PIP_CONFIG_FILE: '/dev/null' };
const file = (name: string) => JSON.stringify(join(checkout, 'scripts/setup', name));

function unpack(line: string) {
  const code = `import { dropPartialUnpackings, parseLock, unpackWheel } from ${file('wheels.mjs')};
    dropPartialUnpackings();
    console.log(await unpackWheel(parseLock(process.argv[1])[0]));`;
  return spawnSync(process.execPath, ['--input-type=module', '-e', code, line], { encoding: 'utf8', env });
}

const right = `planted==1.0 --hash=sha256:${hash}`;
const unpacked = join(checkout, '.cache', 'unpacked');

test('a lock file without a hash is refused', () => {
  expect(() => parseLock('numpy==2.0')).toThrow(/--hash=sha256/);
  expect(parseLock(`# comment\n${right}\n`)).toEqual([{ name: 'planted', version: '1.0', line: right }]);
});

test('a wheel with another hash is refused and nothing is left that looks finished', () => {
  const { status, stderr } = unpack(`planted==1.0 --hash=sha256:${'0'.repeat(64)}`);
  expect(status).not.toBe(0);
  expect(stderr).toMatch(/DO NOT MATCH|hash/i);
  expect(existsSync(join(unpacked, 'planted-1.0'))).toBe(false);
});

test('what a killed set-up left behind is done again', () => {
  // Half a download, and half an unpacking.
  const wheels = join(checkout, '.cache', 'wheels', 'native', 'planted');
  mkdirSync(wheels, { recursive: true });
  writeFileSync(join(wheels, 'planted-1.0-py3-none-any.whl'), 'half');
  mkdirSync(join(unpacked, '.partial-abc'), { recursive: true });
  const { status, stdout, stderr } = unpack(right);
  expect([status, stderr]).toEqual([0, expect.any(String)]);
  expect(readFileSync(join(stdout.trim(), 'planted', 'lib.txt'), 'utf8')).toBe('contents');
  expect(readdirSync(unpacked)).toEqual(['planted-1.0']);
});

test('the second time nothing is fetched', () => {
  const { stderr, status } = unpack(right);
  expect([stderr, status]).toEqual(['', 0]);
});

test('a check that fetches a tool waits for the set-up at work, which would remove its half-unpacked folder', async () => {
  rmSync(unpacked, { recursive: true });
  const held = `import { withLock } from ${file('lock.mjs')};
    await withLock(async () => {
      console.log('in');
      await new Promise((end) => process.stdin.once('data', end));
      process.stdin.unref();
    });`;
  const atWork = spawn(process.execPath, ['--input-type=module', '-e', held]);
  await once(atWork.stdout, 'data');
  const code = `import { parseLock } from ${file('wheels.mjs')};
    import { fetchTool } from ${file('tools.mjs')};
    await fetchTool(parseLock(process.argv[1])[0]);`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', code, right], { env });
  const ended = new Promise((resolve) => child.once('exit', resolve));
  await new Promise<void>((waits, fails) => {
    child.stderr.on('data', (text) => String(text).includes('another set-up runs') && waits());
    child.once('exit', () => fails(new Error('it did not wait')));
  });
  expect(existsSync(unpacked)).toBe(false);
  atWork.stdin.end('go');
  expect(await ended).toBe(0);
  expect(readdirSync(unpacked)).toEqual(['planted-1.0']);
});
