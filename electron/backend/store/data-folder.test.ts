import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { installToken } from '../transport/access';
import { lockFolder } from './lock';

let place: string;
beforeEach(() => {
  place = mkdtempSync(join(tmpdir(), 'atelier-home-'));
});
afterEach(() => rmSync(place, { recursive: true }));

it.each([
  ['the token', installToken],
  ['the lock', lockFolder],
])('%s is the first thing in a folder that is not there yet', (name, first) => {
  const home = join(place, 'not', 'there');
  const made = first(home);
  expect(existsSync(join(home, name.slice(4)))).toBe(true);
  if (typeof made === 'function') made();
});

it.each([
  ['the token', installToken],
  ['the lock', lockFolder],
])('%s says which folder cannot be written, and what to do', (_name, first) => {
  writeFileSync(join(place, 'file'), '');
  expect(() => first(join(place, 'file'))).toThrow(
    expect.objectContaining({
      code: 'io',
      message: expect.stringContaining(join(place, 'file')),
      hint: expect.stringContaining('ATELIER_HOME'),
    }),
  );
});
