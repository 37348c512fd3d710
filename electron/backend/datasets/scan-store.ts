import { mkdir, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { AtelierError } from '../../../shared/rpc/errors';
import { readJson, replaceFile } from '../store';
import { unpack } from './gzip';
import { Indexing } from './indexing';
import { Scan, stampsOf, type Files } from './scan';
import { findParts } from './source';

/** Where the rows of a data set lie. */
export interface Location {
  id: string;
  path: string;
  /** The file's name before links were followed, where it is another. */
  named?: string | undefined;
  split: string | null;
}

/** What is known of a data set's files by now. */
export interface Indexed {
  files: Files;
  stamps: Scan['files'];
  found: Scan;
  share: number | null;
  usable: Promise<void>;
  done: Promise<Scan>;
  cancel(): void;
}

/** Scans of data sets: in memory, on disk, or under way. Files that have changed since are scanned again. */
export class ScanStore {
  readonly #kept = new Map<string, Promise<Indexed>>();

  /** `folder`: scans and unpacked files are kept below it. */
  constructor(private readonly folder: string) {}

  /** @throws what the file system says, or an AtelierError where files are no data */
  async get(location: Location): Promise<Indexed> {
    const { id } = location;
    const before = this.#kept.get(id);
    const files = await this.#files(location);
    const stamps = await stampsOf(files.paths);
    const kept = await before?.catch(() => null);
    if (kept && same(kept.stamps, stamps)) return kept;
    // another asked at the same time
    const now = this.#kept.get(id);
    if (now !== undefined && now !== before) return now;
    kept?.cancel();
    const next = this.#load(id, files, stamps);
    this.#kept.set(id, next);
    return next;
  }

  /** Forgets a data set, with what was unpacked for it. */
  async remove(id: string): Promise<void> {
    const kept = await this.#kept.get(id)?.catch(() => null);
    kept?.cancel();
    this.#kept.delete(id);
    await rm(this.#file(id), { force: true });
    for (const path of kept?.files.paths ?? []) {
      if (dirname(path) === this.#unpacked) await rm(path, { force: true });
    }
  }

  close(): void {
    for (const kept of this.#kept.values())
      kept.then(
        (indexed) => indexed.cancel(),
        () => undefined,
      );
  }

  async #files({ path, named, split }: Location): Promise<Files> {
    const parts = await findParts(path, named);
    const part = parts.find((each) => each.split === split);
    if (!part) {
      const now = parts.map((each) => each.split ?? 'one part').join(', ');
      throw new AtelierError(
        'invalid_data',
        `${path} has other splits than when it was added: ${now}.`,
        'Remove it from the list and add it again.',
      );
    }
    const paths: string[] = [];
    for (const file of part.files) {
      paths.push(file.gzip ? await unpack(file.path, this.#unpacked) : file.path);
    }
    return { format: part.format, paths };
  }

  async #load(id: string, files: Files, stamps: Scan['files']): Promise<Indexed> {
    const stored = Scan.safeParse(await readJson(this.#file(id)).catch(() => null));
    if (stored.success && same(stored.data.files, stamps)) {
      const found = stored.data;
      const cancel = () => undefined;
      return {
        files,
        stamps,
        found,
        share: null,
        usable: Promise.resolve(),
        done: Promise.resolve(found),
        cancel,
      };
    }
    const indexing = new Indexing(files, stamps);
    void indexing.done.then(
      (found) => this.#save(id, found),
      () => undefined,
    );
    return indexing;
  }

  async #save(id: string, found: Scan): Promise<void> {
    try {
      await mkdir(join(this.folder, 'scans'), { recursive: true });
      await replaceFile(this.#file(id), JSON.stringify(found));
    } catch {
      // kept to save time only: on a full disk the data can still be read
    }
  }

  get #unpacked(): string {
    return join(this.folder, 'unpacked');
  }

  #file(id: string): string {
    return join(this.folder, 'scans', `${id}.json`);
  }
}

const same = (a: Scan['files'], b: Scan['files']) =>
  a.length === b.length &&
  a.every(
    ({ path, bytes, mtimeMs }, k) =>
      path === b[k]!.path && bytes === b[k]!.bytes && mtimeMs === b[k]!.mtimeMs,
  );
