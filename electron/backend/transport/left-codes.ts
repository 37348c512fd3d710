import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, statSync, unlinkSync } from 'node:fs';
import { join } from 'node:path';
import { writePrivate } from '../store';
import { makeSecret } from './secret';

/** How long a code that was left is good. */
const MINUTES = 15;
const OLD_MS = MINUTES * 60_000;

const folderOf = (home: string) => join(home, 'codes');
const fileOf = (home: string, code: string) =>
  join(folderOf(home), createHash('sha256').update(code).digest('hex'));

/**
 * Leaves a one-time code for the server of this data folder, from another process of the same person: who may write
 * the folder may come in. The file names the code's hash, so that reading the folder later opens nothing.
 */
export function leaveCode(home: string): string {
  mkdirSync(folderOf(home), { recursive: true, mode: 0o700 });
  for (const name of readdirSync(folderOf(home))) {
    const file = join(folderOf(home), name);
    if (isOld(file)) unlinkSync(file);
  }
  const code = makeSecret();
  writePrivate(fileOf(home, code), '');
  return code;
}

/** Whether the code was left and is not too old; it is good once. */
export function takeLeftCode(home: string, code: string): boolean {
  const file = fileOf(home, code);
  try {
    const old = isOld(file);
    unlinkSync(file);
    return !old;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
    throw error;
  }
}

const isOld = (file: string) => Date.now() - statSync(file).mtimeMs > OLD_MS;
