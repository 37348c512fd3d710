import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { writePrivate } from '../store';

const fileOf = (home: string) => join(home, 'port');

/** Where the page of this data folder is served, for other processes. */
export const notePort = (home: string, port: number) => writePrivate(fileOf(home), `${port}\n`);

export const forgetPort = (home: string) => rmSync(fileOf(home), { force: true });

/** null: none was noted. What a process that died has left is told by the folder's lock, which died with it. */
export function notedPort(home: string): number | null {
  try {
    const port = Number(readFileSync(fileOf(home), 'utf8'));
    return Number.isInteger(port) && port > 0 ? port : null;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}
