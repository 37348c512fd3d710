import Database from 'better-sqlite3';
import { AtelierError } from '../../../shared/rpc';
import { migrations } from './schema';

export type Connection = Database.Database;

/** 3.7.0 to 3.51.2 can corrupt a WAL that is reset while another connection reads. */
const OLDEST_SQLITE = [3, 51, 3];

/** SQLite's addon for another runtime than the one it was installed for: Electron in a checkout. */
export function open(file: string, options: Database.Options = {}): Connection {
  const nativeBinding = process.env['ATELIER_SQLITE_BINDING'];
  return new Database(file, { ...options, ...(nativeBinding ? { nativeBinding } : {}) });
}

let checked = false;
function checkVersion(): void {
  if (checked) return;
  const memory = open(':memory:');
  const version = memory.prepare('SELECT sqlite_version()').pluck().get() as string;
  memory.close();
  const parts = version.split('.').map(Number);
  const differing = parts.findIndex((part, k) => part !== OLDEST_SQLITE[k]);
  if (differing >= 0 && parts[differing]! < OLDEST_SQLITE[differing]!) {
    throw new AtelierError('unsupported', `SQLite ${version} is older than ${OLDEST_SQLITE.join('.')}.`);
  }
  checked = true;
}

/** `normal`: survives a crash of the process. `full`: survives power loss as well. */
export function connect(file: string, durability: 'normal' | 'full' | 'readonly'): Connection {
  checkVersion();
  const database = open(file, {
    readonly: durability === 'readonly',
    fileMustExist: durability === 'readonly',
  });
  database.pragma('busy_timeout = 5000');
  database.pragma('foreign_keys = ON');
  database.pragma('trusted_schema = OFF');
  if (durability === 'readonly') return database;
  database.pragma('journal_mode = WAL');
  database.pragma(`synchronous = ${durability === 'full' ? 'FULL' : 'NORMAL'}`);
  if (durability === 'full' && process.platform === 'darwin') {
    database.pragma('fullfsync = 1');
    database.pragma('checkpoint_fullfsync = 1');
  }
  return database;
}

/**
 * Brings a store to the newest version, after a copy of an older one beside it (`<file>.v<n>.bak`).
 * @throws AtelierError unsupported for a newer one, invalid_file for a damaged one.
 */
export function migrate(database: Connection, file: string, steps: readonly string[] = migrations): void {
  const version = checkStore(database, file, steps);
  if (version === steps.length) return;
  if (version > 0) database.prepare('VACUUM INTO ?').run(`${file}.v${version}.bak`);
  const run = database.transaction(() => {
    for (const sql of steps.slice(version)) database.exec(sql);
    database.pragma(`user_version = ${steps.length}`);
  });
  run.immediate();
}

/** The store's version. @throws as `migrate` does. */
export function checkStore(
  database: Connection,
  file: string,
  steps: readonly string[] = migrations,
): number {
  const problem = soundness(database);
  if (problem !== 'ok') {
    throw new AtelierError(
      'invalid_file',
      `${file} is damaged: ${problem}.`,
      'Its checkpoints are files and may still be whole.',
    );
  }
  const version = database.pragma('user_version', { simple: true }) as number;
  if (version > steps.length) {
    throw new AtelierError(
      'unsupported',
      `${file} was written by a newer Atelier (store version ${version}).`,
      'Update Atelier.',
    );
  }
  return version;
}

function soundness(database: Connection): string {
  try {
    return database.pragma('quick_check(1)', { simple: true }) as string;
  } catch (error) {
    return (error as Error).message;
  }
}
