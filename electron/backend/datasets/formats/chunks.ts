import { open } from 'node:fs/promises';

const chunkBytes = 256 << 10;

/** A file's bytes from `position` on. A chunk's memory is used again for the next. */
export async function* chunksOf(
  path: string,
  position: number,
  signal?: AbortSignal,
): AsyncGenerator<Buffer> {
  const file = await open(path, 'r');
  try {
    const buffer = Buffer.alloc(chunkBytes);
    for (let at = position; ;) {
      signal?.throwIfAborted();
      const { bytesRead } = await file.read(buffer, 0, chunkBytes, at);
      if (bytesRead === 0) return;
      at += bytesRead;
      yield buffer.subarray(0, bytesRead);
    }
  } finally {
    await file.close();
  }
}

/** A file's first bytes. */
export async function headOf(path: string, bytes: number): Promise<Buffer> {
  const file = await open(path, 'r');
  try {
    const buffer = Buffer.alloc(bytes);
    const { bytesRead } = await file.read(buffer, 0, bytes, 0);
    return buffer.subarray(0, bytesRead);
  } finally {
    await file.close();
  }
}
