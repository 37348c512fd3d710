import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { atLeast, versionIn } from './prerequisites.mjs';
import { root } from './paths.mjs';

test('versions', () => {
  expect(versionIn('g++ (Debian 12.2.0-14) 12.2.0')).toEqual([12, 2, 0]);
  expect(atLeast([20, 19, 1], [20, 19])).toBe(true);
  expect(atLeast([20, 9], [20, 19])).toBe(false);
  expect(atLeast([22], [20, 19])).toBe(true);
  expect(atLeast([], [3, 25])).toBe(false);
});

const folder = mkdtempSync(join(tmpdir(), 'atelier-path-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test('every missing prerequisite is named with the way to get it', () => {
  symlinkSync(process.execPath, join(folder, 'node'));
  let message = '';
  try {
    execFileSync('node', [join(root, 'scripts', 'atelier.mjs'), 'setup'], {
      env: { PATH: folder },
      encoding: 'utf8',
      stdio: 'pipe',
    });
  } catch (error) {
    message = (error as { stderr: string }).stderr;
  }
  for (const [what, way] of [
    [/C\+\+20 compiler: g\+\+ >= 12 or clang >= 16/, /g\+\+|xcode-select/],
    [/^ *make$/m, /install make|xcode-select/],
    [/CMake >= 3\.25/, /install cmake/],
    [/Python 3 with pip/, /python3/],
  ] as const) {
    expect(message).toMatch(what);
    expect(message).toMatch(way);
  }
});
