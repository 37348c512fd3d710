import { mkdir, realpath, rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { DataKind } from '../../../shared/algorithms';
import type { Dataset, FetchItem, HubListing, Mapping, Statistics } from '../../../shared/contract/datasets';
import { AtelierError } from '../../../shared/rpc/errors';
import { makeId, RegistryFile, type Roots } from '../places';
import type { ModelText } from '../text';
import { clipRow } from './clip';
import { Hub } from './hub';
import { Entry, find, heldOutOf, knownOf, locationOf, type Known } from './known';
import { requireColumns, resolveMapping } from './mapping';
import { MappingChoices } from './mapping-choices';
import { dataUse, previewRow, type Preview } from './preview';
import { RowFile } from './row-file';
import { noteOfColumns, readRows, type DataRow, type Scan } from './scan';
import { ScanStore, type Indexed } from './scan-store';
import { findParts, type DataPart } from './source';
import { STATISTICS_ROWS, statisticsOf } from './statistics';
import { endingOf, Uploads } from './uploads';

export interface DatasetOptions {
  /** The data folder: lists, uploads and what scans found are kept below it. */
  home: string;
  /** Folder of the app's own data sets. */
  bundled: string;
  roots: Roots;
}

/** Data sets by id: those that come with the app, those added in place, uploaded, and fetched from the Hub. */
export class DatasetRegistry {
  readonly #entries: RegistryFile<Entry>;
  readonly #folder: string;
  readonly #uploads: Uploads;
  readonly #scans: ScanStore;
  readonly #mappings: MappingChoices;
  readonly #hub: Hub;

  constructor(private readonly options: DatasetOptions) {
    this.#folder = join(options.home, 'datasets');
    this.#entries = new RegistryFile(join(options.home, 'datasets.json'), Entry);
    this.#uploads = new Uploads(join(this.#folder, 'uploads'));
    this.#scans = new ScanStore(this.#folder);
    this.#mappings = new MappingChoices(options.home);
    this.#hub = new Hub(join(this.#folder, 'hub'));
  }

  async list(): Promise<Dataset[]> {
    const all = await this.#known();
    return Promise.all(all.map((known) => this.#describe(known, all)));
  }

  async get(id: string): Promise<Dataset> {
    const all = await this.#known();
    return this.#describe(find(all, id), all);
  }

  /** A file or a folder where it lies. Each split of it becomes a data set; answered is the first, train's. */
  async add({ path, name }: { path: string; name?: string | undefined }): Promise<Dataset> {
    const real = await this.options.roots.resolve(path);
    for (const known of await this.#known()) {
      if (known.source === 'added' && (await realpath(known.path).catch(() => known.path)) === real) {
        return this.get(known.id);
      }
    }
    const parts = await findParts(real, path);
    const named = basename(path) === basename(real) ? {} : { named: basename(path) };
    const [first] = await this.#register(parts, {
      name: name ?? bare(path),
      source: 'added',
      path: real,
      ...named,
    });
    return first!;
  }

  /** Forgets a data set. An added one's files stay; those of our own are deleted. */
  async remove(id: string): Promise<void> {
    const all = await this.#known();
    const known = find(all, id);
    if (known.source === 'bundled') {
      throw new AtelierError('forbidden', `"${known.name}" comes with the app and cannot be removed.`);
    }
    await this.#entries.update((entries) => entries.filter((entry) => entry.id !== id));
    await this.#scans.remove(id);
    await this.#mappings.set(id, null);
    if (known.source !== 'added') await rm(known.path, { recursive: true, force: true });
  }

  /** Keeps a person's choice of columns; null: our guess again. @throws AtelierError where a column is not there */
  async setMapping({ id, mapping }: { id: string; mapping: Mapping | null }): Promise<Dataset> {
    const dataset = await this.get(id);
    if (mapping !== null) requireColumns(dataset, mapping);
    await this.#mappings.set(id, mapping);
    return this.get(id);
  }

  async rows({ id, offset, limit }: { id: string; offset: number; limit: number }) {
    const { indexed } = await this.#ready(id);
    const { files, found } = indexed;
    const rows = await take(readRows(files, found.places, offset), limit);
    return { total: found.rows, rows: rows.map(({ line, row }) => ({ line, row: clipRow(row) })) };
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

  /** What an algorithm would make of the first rows. */
  async statistics(
    input: {
      id: string;
      mapping: Mapping;
      algorithm: string;
      maxLength?: number | undefined;
      dropDuplicates: boolean;
    },
    text: ModelText,
    signal: AbortSignal,
    onProgress: (looked: number, of: number) => void,
  ): Promise<Statistics> {
    const use = dataUse(input.algorithm);
    const { mapping, rows, total } = await this.open(input.id, input.mapping, use);
    const most = Math.min(total, STATISTICS_ROWS);
    const options = {
      text,
      mapping,
      dropDuplicates: input.dropDuplicates,
      signal,
      ...(input.maxLength === undefined ? {} : { maxTokens: input.maxLength }),
    };
    const found = await statisticsOf(use, first(rows, most), options, (looked) => onProgress(looked, most));
    return { ...found, total };
  }

  /** All usable rows with the mapping that fits them. Throws where a mapped column is not there. */
  async open(
    id: string,
    chosen: Mapping,
    use: DataKind,
    from = 0,
  ): Promise<{ dataset: Dataset; mapping: Mapping; total: number; rows: AsyncGenerator<DataRow> }> {
    const { known, all, indexed } = await this.#ready(id);
    const dataset = await this.#describe(known, all);
    const mapping = resolveMapping(dataset, chosen, use);
    const { files, found } = indexed;
    return { dataset, mapping, total: found.rows, rows: readRows(files, found.places, from) };
  }

  /** For rows that may be more than memory holds. */
  rowFile<T>(): RowFile<T> {
    return new RowFile(join(this.#folder, 'prepared'));
  }

  /** Waits until all of it has been read once. */
  async whole(id: string): Promise<Pick<Scan, 'rows' | 'problems'>> {
    return (await this.#ready(id)).indexed.done;
  }

  lookUp(reference: string, signal: AbortSignal): Promise<HubListing> {
    return this.#hub.lookUp(reference, signal);
  }

  /** Fetches a data set from the Hub and adds its splits. */
  async *fetch(reference: string, signal: AbortSignal): AsyncGenerator<FetchItem> {
    const { splits, name, origin } = yield* this.#hub.fetch(reference, signal);
    const all = await this.#known();
    for (const { split, folder, partial } of splits) {
      if (all.some(({ path }) => path === folder)) continue;
      const parts = (await findParts(folder)).map((part) => ({ ...part, split }));
      await this.#register(parts, { name, source: 'hub', path: folder, reference: origin, partial });
    }
    const now = await this.#known();
    const fetched = now.filter(({ path }) => splits.some(({ folder }) => folder === path));
    yield { kind: 'done', datasets: await Promise.all(fetched.map((known) => this.#describe(known, now))) };
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
    const { path, given } = await this.#uploads.end(upload, async (given) => {
      await mkdir(files, { recursive: true });
      const path = join(files, `${upload}${endingOf(given)}`);
      return { path, value: { path, given } };
    });
    try {
      const parts = await findParts(path);
      const [added] = await this.#register(parts, { name: bare(given), source: 'uploaded', path }, given);
      return added!;
    } catch (error) {
      await rm(path, { force: true });
      throw error;
    }
  }

  /** Adds parts of a path, train's first. @throws AtelierError, and adds none, where one has no usable row */
  async #register(
    parts: readonly DataPart[],
    made: Pick<Entry, 'name' | 'source' | 'path'> & Partial<Pick<Entry, 'named' | 'reference' | 'partial'>>,
    called = basename(made.path),
  ): Promise<Dataset[]> {
    const taken = new Set((await this.#known()).map((known) => known.id));
    const added = parts
      .toSorted((a, b) => Number(b.split === 'train') - Number(a.split === 'train'))
      .map(({ split }): Entry => {
        const name = split === null ? made.name : `${made.name} (${split})`;
        const id = makeId(name, taken, 'dataset');
        taken.add(id);
        return { reference: null, partial: false, ...made, id, name, split, addedAt: Date.now() };
      });
    try {
      for (const entry of added) await this.#requireRows(entry, called);
    } catch (error) {
      for (const entry of added) await this.#scans.remove(entry.id);
      throw error;
    }
    await this.#entries.update((entries) => {
      const now = new Set(entries.map(({ id }) => id));
      for (const entry of added) {
        // another was added meanwhile
        if (now.has(entry.id)) entry.id = makeId(entry.name, new Set([...now, ...taken]), 'dataset');
        now.add(entry.id);
      }
      return [...entries, ...added];
    });
    return Promise.all(added.map(({ id }) => this.get(id)));
  }

  async #requireRows(location: Entry, called: string): Promise<void> {
    const indexed = await this.#scans.get(locationOf(location));
    await indexed.usable;
    const { found, files } = indexed;
    if (found.rows > 0) return;
    throw new AtelierError('invalid_data', `"${called}" has ${noRows(found.problems)}.`, files.format.hint, {
      problems: found.problems,
    });
  }

  async #known(): Promise<Known[]> {
    return knownOf(await this.#entries.read(), this.options.bundled);
  }

  async #ready(id: string): Promise<{ known: Known; all: Known[]; indexed: Indexed }> {
    const all = await this.#known();
    const known = find(all, id);
    try {
      const indexed = await this.#scans.get(locationOf(known));
      await indexed.usable;
      return { known, all, indexed };
    } catch (error) {
      if (error instanceof AtelierError) throw error;
      throw new AtelierError(
        'unavailable',
        `"${known.name}" cannot be read now: ${(error as Error).message}.`,
      );
    }
  }

  async #describe(known: Known, all: readonly Known[]): Promise<Dataset> {
    const shared = {
      id: known.id,
      name: known.name,
      source: known.source,
      path: known.path,
      split: known.split,
      reference: known.reference,
      heldOut: heldOutOf(known, all),
      suggestedReward: known.bundled?.suggestedReward ?? null,
      ...(known.bundled ? { description: known.bundled.description } : {}),
      addedAt: known.addedAt,
    };
    try {
      const indexed = await this.#scans.get(locationOf(known));
      await indexed.usable;
      const { rows, columns, problems } = indexed.found;
      const { notes, ...mapped } = await this.#mappings.of(known.id, columns);
      const found = {
        format: indexed.files.format.name,
        files: indexed.files.paths.length,
        bytes: indexed.stamps.reduce((sum, { bytes }) => sum + bytes, 0),
        rows,
        indexing: indexed.share,
        columns,
        ...mapped,
        problems,
        notes: [...notes, ...(known.partial ? [beginning] : []), ...noteOfColumns(indexed.found)],
      };
      if (rows > 0) return { ...shared, ...found, state: 'ready' };
      return { ...shared, ...found, state: 'invalid', reason: noRows(problems) };
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      const state = error instanceof AtelierError ? 'invalid' : 'offline';
      return { ...shared, ...nothing, state, reason };
    }
  }
}

const beginning = 'It is the beginning of a larger data set: the Hub’s own copy has no more of it.';

const nothing = {
  format: '',
  files: 0,
  bytes: 0,
  rows: 0,
  indexing: null,
  columns: [],
  type: 'unknown' as const,
  mapping: {},
  mappedBy: 'guess' as const,
  fits: [],
  problems: { count: 0, first: [] },
  notes: [],
};

function bare(path: string): string {
  const name = basename(path);
  return name.slice(0, name.length - endingOf(name).length).slice(0, 120) || 'data';
}

function noRows(problems: Scan['problems']): string {
  const one = problems.first[0];
  return one ? `no usable row: line ${one.line}: ${one.message}` : 'no row: the file is empty';
}

async function take<T>(rows: AsyncGenerator<T>, limit: number): Promise<T[]> {
  const taken: T[] = [];
  for await (const row of rows) {
    taken.push(row);
    if (taken.length >= limit) break;
  }
  return taken;
}

/** The first rows of many. */
export async function* first<T>(rows: AsyncIterable<T>, limit = Infinity): AsyncGenerator<T> {
  let count = 0;
  for await (const row of rows) {
    if (count++ >= limit) return;
    yield row;
  }
}
