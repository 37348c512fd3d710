import { createHash } from 'node:crypto';
import { closeSync, createReadStream, fsyncSync, openSync, writeFileSync } from 'node:fs';
import { mkdir, open, readdir, readFile, rename, rm, stat, statfs } from 'node:fs/promises';
import { dirname } from 'node:path';
import { AtelierError } from '../../../shared/rpc';

/** The file operations that durable writing consists of: a seam, so that a test can stop after each of them. */
export interface Files {
  mkdir(path: string): Promise<void>;
  write(path: string, text: string): Promise<void>;
  /** Flushes a file's or a folder's contents to the disk. */
  sync(path: string): Promise<void>;
  rename(from: string, to: string): Promise<void>;
  remove(path: string): Promise<void>;
  freeBytes(path: string): Promise<number>;
}

export const files: Files = {
  async mkdir(path) {
    await mkdir(path, { recursive: true });
  },
  async write(path, text) {
    const file = await open(path, 'w');
    try {
      await file.writeFile(text);
    } finally {
      await file.close();
    }
  },
  async sync(path) {
    // Windows cannot sync a folder; its renames are journalled
    if (process.platform === 'win32' && (await stat(path)).isDirectory()) return;
    const file = await open(path, 'r');
    try {
      await file.sync();
    } finally {
      await file.close();
    }
  },
  rename,
  async remove(path) {
    await rm(path, { recursive: true, force: true });
  },
  async freeBytes(path) {
    const { bavail, bsize } = await statfs(path);
    return bavail * bsize;
  },
};

/** Replaces a file as a whole: after a crash either the old or the new contents are there. */
export async function replaceFile(path: string, text: string, using: Files = files): Promise<void> {
  const temporary = `${path}.tmp`;
  await using.write(temporary, text);
  await using.sync(temporary);
  await using.rename(temporary, path);
  await using.sync(dirname(path));
}

export async function sha256(path: string): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(path)) hash.update(chunk as Buffer);
  return hash.digest('hex');
}

/** Bytes of all files below a folder; 0 where it is not there. */
export async function folderBytes(path: string): Promise<number> {
  let bytes = 0;
  for (const entry of await readdir(path, { withFileTypes: true, recursive: true }).catch(() => [])) {
    if (!entry.isFile()) continue;
    const found = await stat(`${entry.parentPath ?? entry.path}/${entry.name}`).catch(() => null);
    bytes += found?.size ?? 0;
  }
  return bytes;
}

export async function readJson(path: string): Promise<unknown> {
  return JSON.parse(await readFile(path, 'utf8'));
}

/** A text file readable by its owner alone, written in one go. */
export function writePrivate(path: string, text: string): void {
  const file = openSync(path, 'w', 0o600);
  try {
    writeFileSync(file, text);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

/** Whether an error of the file system, SQLite or the engine means that the disk is full. */
export function isDiskFull(error: unknown): boolean {
  if (error instanceof AtelierError) return error.code === 'disk_full';
  const { code, message } = error as { code?: string; message?: string };
  if (code === 'ENOSPC' || code === 'EDQUOT' || code === 'SQLITE_FULL') return true;
  return code === 'io' && /ENOSPC|EDQUOT|No space left|quota/i.test(message ?? '');
}

/** Room left on the disk for everything else. */
const RESERVE_BYTES = 64 * 1024 * 1024;

/**
 * That so many bytes more would have room in a folder. `what` needs them: "A checkpoint".
 * @throws AtelierError disk_full; `bytesWanted` tells how much must be free
 */
export async function checkRoom(
  what: string,
  folder: string,
  expected: number,
  using: Files = files,
): Promise<void> {
  const free = await using.freeBytes(folder);
  const wanted = expected + RESERVE_BYTES;
  if (free >= wanted) return;
  const mb = (bytes: number) => `${Math.ceil(bytes / 1e6)} MB`;
  throw new AtelierError(
    'disk_full',
    `${what} needs ${mb(expected)} in ${folder}; the disk has ${mb(free)} left and ${mb(RESERVE_BYTES)} stay reserved.`,
    'Free some space. What is saved is kept.',
    { bytes: wanted },
  );
}

/** Bytes that must be free for what failed with `isDiskFull`, where it said so; else 0. */
export function bytesWanted(error: unknown): number {
  const bytes = error instanceof AtelierError ? error.details?.['bytes'] : undefined;
  return typeof bytes === 'number' ? bytes : 0;
}
