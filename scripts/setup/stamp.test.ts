import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { cache, root } from './paths.mjs';
import { whenChanged } from './stamp.mjs';

let folder: string;
let stamp: string;
let builds: number;
beforeEach(() => {
  folder = mkdtempSync(join(cache, 'stamp-test-'));
  stamp = join(folder, 'stamp');
  builds = 0;
  writeFileSync(join(folder, 'a.ts'), 'one');
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const build = (work = async () => void builds++) =>
  whenChanged(stamp, [relative(root, join(folder, 'a.ts')), relative(root, join(folder, 'a.test.ts'))], work);

test('a build runs once, and again when a source changes; tests do not count', async () => {
  await build();
  await build();
  writeFileSync(join(folder, 'a.test.ts'), 'anything');
  await build();
  expect(builds).toBe(1);
  writeFileSync(join(folder, 'a.ts'), 'two');
  await build();
  expect(builds).toBe(2);
});

test('a build cut short counts as none, also when an older one had finished', async () => {
  await build();
  writeFileSync(join(folder, 'a.ts'), 'two');
  await expect(build(() => Promise.reject(new Error('killed')))).rejects.toThrow('killed');
  expect(existsSync(stamp)).toBe(false);
  await build();
  expect(builds).toBe(2);
  expect(readFileSync(stamp, 'utf8')).toMatch(/^[0-9a-f]{64}$/);
});
