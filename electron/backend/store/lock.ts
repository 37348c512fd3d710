import { join } from 'node:path';
import { AtelierError } from '../../../shared/rpc';
import { makeDataFolder } from './data-folder';
import { open } from './database';

/**
 * One backend at a time writes a data folder. The lock is the operating system's (held through SQLite), so it
 * ends with the process however that dies. Returns the release.
 * @throws AtelierError conflict
 */
export function lockFolder(folder: string): () => void {
  const release = take(folder, 2000);
  if (release) return release;
  throw new AtelierError(
    'conflict',
    `Another Atelier is using ${folder}.`,
    'Use the one that runs, end it, or set ATELIER_HOME to another folder.',
  );
}

/** Whether a process works on the folder. */
export function isLocked(folder: string): boolean {
  const release = take(folder, 0);
  release?.();
  return release === null;
}

/** `timeout`: ms that are waited for another to end; null where it does not. */
function take(folder: string, timeout: number): (() => void) | null {
  makeDataFolder(folder);
  const database = open(join(folder, 'lock'), { timeout });
  try {
    database.pragma('journal_mode = MEMORY');
    database.pragma('locking_mode = EXCLUSIVE');
    database.exec('BEGIN EXCLUSIVE');
  } catch (error) {
    database.close();
    if ((error as { code?: string }).code !== 'SQLITE_BUSY') throw error;
    return null;
  }
  return () => database.close();
}
