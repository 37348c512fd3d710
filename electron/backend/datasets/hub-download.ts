import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdir, open, rename, rm, stat, statfs } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { AtelierError } from '../../../shared/rpc/errors';
import { isDiskFull } from '../store';
import { askHub, refusal } from './hub-api';

/** Kept free on the disk beside what is fetched. */
export const reserveBytes = 2 * 2 ** 30;
const checkEvery = 256 << 20;

export interface Download {
  url: string;
  target: string;
  bytes: number;
  /** Hex. */
  sha256: string;
  repo: string;
}

/**
 * Fetches a file, going on where an earlier try broke off, and gives it its name only when size and sha-256 are right.
 * Yields the bytes that are there.
 */
export async function* download(file: Download, signal: AbortSignal): AsyncGenerator<number> {
  const { target, bytes, sha256 } = file;
  if ((await stat(target).catch(() => null))?.size === bytes) {
    yield bytes;
    return;
  }
  await mkdir(dirname(target), { recursive: true });
  const part = `${target}.${sha256.slice(0, 12)}.part`;
  const hash = createHash('sha256');
  let done = await hashed(part, hash, bytes);
  yield done;
  try {
    if (done < bytes) {
      for await (const chunk of bytesFrom(file, done, signal)) {
        await append(part, done, chunk);
        hash.update(chunk);
        const before = done;
        done += chunk.length;
        if (done > bytes) break;
        if (Math.floor(before / checkEvery) !== Math.floor(done / checkEvery))
          await requireRoom(target, bytes - done);
        yield done;
      }
    }
  } catch (error) {
    if (isDiskFull(error)) throw noRoom(target, bytes - done);
    throw error;
  }
  if (done < bytes) {
    throw new AtelierError(
      'unavailable',
      `${basename(target)} broke off after ${done} of ${bytes} bytes.`,
      'Try again: it goes on from there.',
    );
  }
  if (done !== bytes || hash.digest('hex') !== sha256) {
    await rm(part, { force: true });
    throw new AtelierError(
      'invalid_file',
      `${basename(target)} is not the file that the Hub announced (size or sha-256).`,
      'Fetch it again; a proxy may change what it passes on.',
    );
  }
  await rename(part, target);
}

/** @throws AtelierError disk_full where `bytes` more would not leave the reserve */
export async function requireRoom(folder: string, bytes: number): Promise<void> {
  const { bavail, bsize } = await statfs(dirname(folder));
  if (bavail * bsize < bytes + reserveBytes) throw noRoom(folder, bytes);
}

const noRoom = (target: string, bytes: number) =>
  new AtelierError(
    'disk_full',
    `There is no room for ${basename(target)}: ${Math.ceil(bytes / 2 ** 20)} MiB are to come, and 2 GiB stay free.`,
    'Free some space and try again: it goes on from there.',
  );

/** Hashes what an earlier try left. @returns its bytes; 0, and nothing left, where it is too long */
async function hashed(part: string, hash: ReturnType<typeof createHash>, most: number): Promise<number> {
  const size = (await stat(part).catch(() => null))?.size ?? 0;
  if (size > most) {
    await rm(part);
    return 0;
  }
  if (size > 0) for await (const chunk of createReadStream(part)) hash.update(chunk as Buffer);
  return size;
}

async function append(part: string, at: number, chunk: Uint8Array): Promise<void> {
  const file = await open(part, at === 0 ? 'w' : 'r+');
  try {
    await file.write(chunk, 0, chunk.length, at);
  } finally {
    await file.close();
  }
}

async function* bytesFrom(
  { url, repo }: Download,
  from: number,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  const headers: Record<string, string> = from > 0 ? { range: `bytes=${from}-` } : {};
  const response = await askHub(url, { signal, headers });
  if (!response.ok) throw await refusal(response, repo);
  const start =
    response.status === 206
      ? Number(/bytes (\d+)-/.exec(response.headers.get('content-range') ?? '')?.[1])
      : 0;
  if (start !== 0 && start !== from) throw await refusal(response, repo);
  // a host that sends all of it again: what is there already is passed over
  let skip = from - start;
  for await (const chunk of response.body ?? []) {
    const rest = skip > 0 ? chunk.subarray(skip) : chunk;
    skip = Math.max(0, skip - chunk.length);
    if (rest.length > 0) yield rest;
  }
}
