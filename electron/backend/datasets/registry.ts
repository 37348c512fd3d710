import { mkdir, realpath, rm, stat } from 'node:fs/promises';
import { basename, extname, join } from 'node:path';
import { z } from 'zod';
import type { DataKind } from '../../../shared/algorithms';
import { Id } from '../../../shared/contract/common';
import type { Dataset, Mapping } from '../../../shared/contract/datasets';
import { AtelierError } from '../../../shared/rpc/errors';
import { makeId, RegistryFile, type Roots } from '../places';
import { readJson, replaceFile } from '../store';
import type { ModelText } from '../text';
import { formatOf } from './formats';
import { resolveMapping } from './mapping';
import { previewRow, dataUse, type Preview } from './preview';
import { readRows, scan, Scan, type DataRow } from './scan';
import { Uploads } from './uploads';

const Entry = z.object({
  id: Id,
  name: z.string(),
  source: z.enum(['added', 'uploaded']),
  path: z.string(),
  addedAt: z.number(),
});
type Entry = z.infer<typeof Entry>;

/** resources/datasets/index.json: what comes with the app; `<id>.jsonl` lies beside it. */
const Bundled = z.object({
  id: Id,
  name: z.string(),
  description: z.string(),
  heldOut: Id.nullable(),
  suggestedReward: Id.nullable(),
});

type Known = (Entry | (z.infer<typeof Bundled> & { source: 'bundled'; path: string; addedAt: number })) & {
  path: string;
};

export interface DatasetOptions {
  /** The data folder: lists, uploads and what scans found are kept below it. */
  home: string;
  /** Folder of the app's own data sets. */
  bundled: string;
  roots: Roots;
}

/** Data sets by id: those that come with the app, files added in place, and files uploaded. */
export class DatasetRegistry {
  readonly #entries: RegistryFile<Entry>;
  readonly #folder: string;
  readonly #uploads: Uploads;
  readonly #scans = new Map<string, Promise<Scan>>();

  constructor(private readonly options: DatasetOptions) {
    this.#folder = join(options.home, 'datasets');
    this.#entries = new RegistryFile(join(options.home, 'datasets.json'), Entry);
    this.#uploads = new Uploads(join(this.#folder, 'uploads'));
  }

  async list(): Promise<Dataset[]> {
    return Promise.all((await this.#known()).map((known) => this.#describe(known)));
  }

  async get(id: string): Promise<Dataset> {
    return this.#describe(await this.#find(id));
  }

  /** A file where it lies. */
  async add({ path, name }: { path: string; name?: string | undefined }): Promise<Dataset> {
    const real = await this.options.roots.resolve(path);
    formatOf(real);
    const found = await stat(real);
    if (!found.isFile()) {
      const what = found.isDirectory() ? 'is a folder' : 'is a pipe or a device';
      throw new AtelierError('invalid_input', `${path} ${what}; a data set is one file.`, undefined, {
        path: 'path',
      });
    }
    for (const known of await this.#known()) {
      if (known.source !== 'bundled' && (await realpath(known.path).catch(() => known.path)) === real) {
        return this.#describe(known);
      }
    }
    usable(await scan(real), basename(real));
    return this.#register({ name: name ?? bare(real), source: 'added', path: real });
  }

  /** Forgets a data set. An added file stays; an uploaded one is deleted. */
  async remove(id: string): Promise<void> {
    const known = await this.#find(id);
    if (known.source === 'bundled') {
      throw new AtelierError('forbidden', `"${known.name}" comes with the app and cannot be removed.`);
    }
    await this.#entries.update((entries) => entries.filter((entry) => entry.id !== id));
    if (known.source === 'uploaded') await rm(known.path, { force: true });
    this.#scans.delete(id);
    await rm(this.#scanFile(id), { force: true });
  }

  async rows({
    id,
    offset,
    limit,
  }: {
    id: string;
    offset: number;
    limit: number;
  }): Promise<{ total: number; rows: DataRow[] }> {
    const { known, found } = await this.#ready(id);
    return { total: found.rows, rows: await take(readRows(known.path, found.places, offset), limit) };
  }

  /** Rows as the model sees them under an algorithm. */
  async preview(
    input: {
      id: string;
      mapping: Mapping;
      algorithm: string;
      maxLength?: number | undefined;
      offset: number;
      limit: number;
    },
    text: ModelText,
  ): Promise<{ total: number; rows: Preview[] }> {
    const use = dataUse(input.algorithm);
    const { mapping, rows, total } = await this.open(input.id, input.mapping, use, input.offset);
    const options = {
      text,
      mapping,
      ...(input.maxLength === undefined ? {} : { maxTokens: input.maxLength }),
    };
    const taken = await take(rows, input.limit);
    const shown: Preview[] = [];
    for (const row of taken) shown.push(...(await previewRow(row, use, options)));
    return { total, rows: shown };
  }

  /** All usable rows with the mapping that fits them. Throws where a mapped column is not there. */
  async open(
    id: string,
    chosen: Mapping,
    use: DataKind,
    from = 0,
  ): Promise<{ dataset: Dataset; mapping: Mapping; total: number; rows: AsyncGenerator<DataRow> }> {
    const { known, found } = await this.#ready(id);
    const dataset = await this.#describe(known);
    const mapping = resolveMapping(dataset, chosen, use);
    return { dataset, mapping, total: found.rows, rows: readRows(known.path, found.places, from) };
  }

  uploadBegin({ name, bytes }: { name: string; bytes: number }): Promise<string> {
    return this.#uploads.begin(name, bytes);
  }

  uploadChunk({
    upload,
    offset,
    data,
  }: {
    upload: string;
    offset: number;
    data: Uint8Array;
  }): Promise<number> {
    return this.#uploads.chunk(upload, offset, data);
  }

  async uploadEnd({ upload }: { upload: string }): Promise<Dataset> {
    const files = join(this.#folder, 'files');
    const { path, name } = await this.#uploads.end(upload, async (part, given) => {
      usable(await scan(part), given);
      await mkdir(files, { recursive: true });
      const to = join(files, `${upload}${extname(part)}`);
      return { path: to, value: { path: to, name: bare(given) } };
    });
    return this.#register({ name, source: 'uploaded', path });
  }

  async #register(made: Pick<Entry, 'name' | 'source' | 'path'>): Promise<Dataset> {
    const taken = new Set((await this.#known()).map((known) => known.id));
    let id = '';
    await this.#entries.update((entries) => {
      for (const entry of entries) taken.add(entry.id);
      id = makeId(made.name, taken, 'dataset');
      return [...entries, { id, ...made, addedAt: Date.now() }];
    });
    return this.get(id);
  }

  async #known(): Promise<Known[]> {
    const index = await readJson(join(this.options.bundled, 'index.json')).catch(() => []);
    const shipped = z.array(Bundled).parse(index);
    return [
      ...(await this.#entries.read()),
      ...shipped.map((entry) => ({
        ...entry,
        source: 'bundled' as const,
        path: join(this.options.bundled, `${entry.id}.jsonl`),
        addedAt: 0,
      })),
    ];
  }

  async #find(id: string): Promise<Known> {
    const known = (await this.#known()).find((entry) => entry.id === id);
    if (known) return known;
    throw new AtelierError('not_found', `There is no data set "${id}".`);
  }

  async #ready(id: string): Promise<{ known: Known; found: Scan }> {
    const known = await this.#find(id);
    try {
      return { known, found: await this.#scan(known) };
    } catch (error) {
      if (error instanceof AtelierError) throw error;
      throw new AtelierError(
        'unavailable',
        `"${known.name}" cannot be read now: ${(error as Error).message}.`,
      );
    }
  }

  async #describe(known: Known): Promise<Dataset> {
    const shared = {
      id: known.id,
      name: known.name,
      source: known.source,
      path: known.path,
      heldOut: known.source === 'bundled' ? known.heldOut : null,
      suggestedReward: known.source === 'bundled' ? known.suggestedReward : null,
      ...(known.source === 'bundled' ? { description: known.description } : {}),
      addedAt: known.addedAt,
    };
    try {
      const { bytes, rows, columns, type, suggestedMapping, problems } = await this.#scan(known);
      const found = { bytes, rows, columns, type, suggestedMapping, problems };
      if (rows > 0) return { ...shared, ...found, state: 'ready' };
      return { ...shared, ...found, state: 'invalid', reason: noRows(problems) };
    } catch (error) {
      const empty = { bytes: 0, rows: 0, columns: [], type: 'unknown' as const, suggestedMapping: {} };
      const reason = error instanceof Error ? error.message : String(error);
      return { ...shared, ...empty, problems: { count: 0, first: [] }, state: 'offline', reason };
    }
  }

  /** What the last scan found, from memory or disk; a file that has changed since is scanned again. */
  async #scan(known: Known): Promise<Scan> {
    const { size, mtimeMs } = await stat(known.path);
    const fresh = (found: Scan | null) => found?.bytes === size && found.mtimeMs === mtimeMs;
    const kept = await this.#scans.get(known.id)?.catch(() => null);
    if (kept && fresh(kept)) return kept;
    const running = this.#load(known, fresh);
    this.#scans.set(known.id, running);
    return running;
  }

  async #load(known: Known, fresh: (found: Scan | null) => boolean): Promise<Scan> {
    const stored = Scan.safeParse(await readJson(this.#scanFile(known.id)).catch(() => null));
    if (stored.success && fresh(stored.data)) return stored.data;
    const found = await scan(known.path);
    try {
      await mkdir(join(this.#folder, 'scans'), { recursive: true });
      await replaceFile(this.#scanFile(known.id), JSON.stringify(found));
    } catch {
      // kept to save time only: on a full disk the data can still be read
    }
    return found;
  }

  #scanFile(id: string): string {
    return join(this.#folder, 'scans', `${id}.json`);
  }
}

function bare(path: string): string {
  return basename(path, extname(path)).slice(0, 120) || 'data';
}

function noRows(problems: Scan['problems']): string {
  const first = problems.first[0];
  return first ? `no usable row: line ${first.line}: ${first.message}` : 'no row: the file is empty';
}

function usable(found: Scan, name: string): void {
  if (found.rows > 0) return;
  const hint = 'Each line is a row of its own: one JSON object, {"column": value}, as UTF-8 text.';
  throw new AtelierError('invalid_data', `"${name}" has ${noRows(found.problems)}.`, hint, {
    problems: found.problems,
  });
}

async function take<T>(rows: AsyncGenerator<T>, limit: number): Promise<T[]> {
  const taken: T[] = [];
  for await (const row of rows) {
    taken.push(row);
    if (taken.length >= limit) break;
  }
  return taken;
}
