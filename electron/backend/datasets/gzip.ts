import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { mkdir, rename, rm, stat, statfs } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import { AtelierError } from '../../../shared/rpc/errors';
import { isDiskFull } from '../store';

/** Text packs ten times as small; a bomb a thousand times. */
const maxRatio = 200;
const freeBytes = 64 << 20;
/** Kept free on the disk. */
const reserve = 256 << 20;

/** Where a packed file lies unpacked: a file that changes gets another place. */
export async function unpackedPath(path: string, folder: string): Promise<string> {
  const { size, mtimeMs } = await stat(path);
  const key = createHash('sha256').update(`${path}\0${size}\0${mtimeMs}`).digest('hex').slice(0, 24);
  return join(folder, `${key}-${basename(path).replace(/\.gz$/i, '').slice(-80)}`);
}

/** Unpacks a file once, since a packed one cannot be read from its middle. @returns where it lies */
export async function unpack(path: string, folder: string, signal?: AbortSignal): Promise<string> {
  const target = await unpackedPath(path, folder);
  if (await stat(target).catch(() => null)) return target;
  await mkdir(folder, { recursive: true });
  const { size } = await stat(path);
  const limit = freeBytes + maxRatio * size;
  const temporary = `${target}.${process.pid}.part`;
  let written = 0;
  let asked = 0;
  async function* limited(source: AsyncIterable<Buffer>) {
    for await (const chunk of source) {
      written += chunk.length;
      if (written > limit) {
        throw new AtelierError(
          'invalid_file',
          `${basename(path)} unpacks to more than ${maxRatio} times its size: that is no data.`,
        );
      }
      if (written >= asked) {
        asked = written + (64 << 20);
        const { bavail, bsize } = await statfs(folder);
        if (bavail * bsize < reserve) throw full(path);
      }
      yield chunk;
    }
  }
  try {
    await pipeline(createReadStream(path), createGunzip(), limited, createWriteStream(temporary), { signal });
    await rename(temporary, target);
  } catch (error) {
    await rm(temporary, { force: true });
    if (isDiskFull(error)) throw full(path);
    if (String((error as NodeJS.ErrnoException).code).startsWith('Z_')) {
      throw new AtelierError(
        'invalid_file',
        `${basename(path)} cannot be unpacked: ${(error as Error).message}.`,
        'It is damaged, or not packed with gzip.',
      );
    }
    throw error;
  }
  return target;
}

const full = (path: string) =>
  new AtelierError(
    'disk_full',
    `There is no room to unpack "${basename(path)}".`,
    'Free some space and try again.',
  );
