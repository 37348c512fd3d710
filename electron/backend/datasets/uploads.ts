import { randomBytes } from 'node:crypto';
import { mkdir, open, rename, rm, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { AtelierError } from '../../../shared/rpc/errors';
import { isDiskFull } from '../store';
import { kindByName, unknownKind } from './formats';

const maxChunk = 512 << 10;
const maxOpen = 4;
/** Kept free on the disk beside an upload. */
const reserve = 256 << 20;

interface Upload {
  name: string;
  bytes: number;
  received: number;
  path: string;
  file: Awaited<ReturnType<typeof open>>;
  busy: boolean;
}

/** Files that come from the page in chunks, in order. */
export class Uploads {
  readonly #open = new Map<string, Upload>();
  #swept = false;

  constructor(private readonly folder: string) {}

  async begin(name: string, bytes: number): Promise<string> {
    if (!kindByName(name)) throw unknownKind(name);
    if (this.#open.size >= maxOpen) {
      throw new AtelierError('conflict', `${maxOpen} uploads are under way: wait for one to end.`);
    }
    // What an earlier process left unfinished can never be finished.
    if (!this.#swept) await rm(this.folder, { recursive: true, force: true });
    this.#swept = true;
    await mkdir(this.folder, { recursive: true });
    const { bavail, bsize } = await statfs(this.folder);
    if (bavail * bsize < bytes + reserve) throw full(name, bytes);
    const id = randomBytes(12).toString('hex');
    const path = join(this.folder, `${id}${endingOf(name)}`);
    this.#open.set(id, { name, bytes, received: 0, path, file: await open(path, 'wx'), busy: false });
    return id;
  }

  async chunk(id: string, offset: number, data: Uint8Array): Promise<number> {
    const upload = this.#get(id);
    if (data.length > maxChunk) {
      throw new AtelierError('invalid_input', `A chunk is at most ${maxChunk} bytes.`, undefined, {
        path: 'data',
      });
    }
    if (upload.busy || offset !== upload.received || offset + data.length > upload.bytes) {
      throw new AtelierError(
        'invalid_input',
        `The next chunk starts at byte ${upload.received} of ${upload.bytes}.`,
        undefined,
        { path: 'offset', received: upload.received },
      );
    }
    upload.busy = true;
    try {
      await upload.file.write(data, 0, data.length, offset);
      upload.received += data.length;
      return upload.received;
    } catch (error) {
      await this.drop(id);
      if (isDiskFull(error)) throw full(upload.name, upload.bytes);
      throw new AtelierError('io', `The upload could not be written: ${(error as Error).message}.`);
    } finally {
      upload.busy = false;
    }
  }

  /** Ends the upload: the file is moved to the `path` that `place` gives it. */
  async end<T>(id: string, place: (name: string) => Promise<{ path: string; value: T }>): Promise<T> {
    const upload = this.#get(id);
    if (upload.received !== upload.bytes) {
      throw new AtelierError('conflict', `${upload.received} of ${upload.bytes} bytes have arrived.`);
    }
    try {
      await upload.file.sync();
      await upload.file.close();
      const { path, value } = await place(upload.name);
      await rename(upload.path, path);
      this.#open.delete(id);
      return value;
    } catch (error) {
      await this.drop(id);
      throw error;
    }
  }

  async drop(id: string): Promise<void> {
    const upload = this.#open.get(id);
    this.#open.delete(id);
    await upload?.file.close().catch(() => undefined);
    if (upload) await rm(upload.path, { force: true });
  }

  #get(id: string): Upload {
    const upload = this.#open.get(id);
    if (upload) return upload;
    throw new AtelierError('not_found', 'This upload is not under way (any more).', 'Start it again.');
  }
}

/** A file name's ending, small, with .gz where it is packed: "rows.CSV.gz" gives ".csv.gz". */
export const endingOf = (name: string) => /(\.[a-z0-9]+)?(\.gz)?$/i.exec(name)![0].toLowerCase();

function full(name: string, bytes: number): AtelierError {
  return new AtelierError(
    'disk_full',
    `There is no room for "${name}" (${Math.ceil(bytes / (1 << 20))} MiB).`,
    'Free some space and upload it again.',
  );
}
