import { stat } from 'node:fs/promises';
import { basename } from 'node:path';
import { z } from 'zod';
import { Column, RowProblem } from '../../../shared/contract/datasets';
import { AtelierError } from '../../../shared/rpc/errors';
import { ColumnCounter, maxColumns } from './columns';
import { START, type Format, type Place, type ScannedRow } from './formats';

/** A place is kept each so many rows: enough to page at once, little for files of any size. */
export const placeEvery = 128;
const placeNumbers = 4;
const shownProblems = 50;

/** Plain files of one format, read one after another. */
export interface Files {
  format: Format;
  paths: string[];
}

/** What one pass over data files tells. Kept until one of them changes. */
export const Scan = z.object({
  format: z.literal(2),
  files: z.array(z.object({ path: z.string(), bytes: z.number(), mtimeMs: z.number() })),
  rows: z.number().int(),
  columns: z.array(Column),
  moreColumns: z.number().int(),
  problems: z.object({ count: z.number().int(), first: z.array(RowProblem) }),
  /** [rows / placeEvery] file, offset and line in it, and lines before it, of every 128th row. */
  places: z.array(z.number()),
});
export type Scan = z.infer<typeof Scan>;

export async function stampsOf(paths: readonly string[]): Promise<Scan['files']> {
  return Promise.all(
    paths.map(async (path) => {
      const { size, mtimeMs } = await stat(path);
      return { path, bytes: size, mtimeMs };
    }),
  );
}

/** A pass over data files that can be asked meanwhile what it has found. */
export class Scanner {
  readonly #counter = new ColumnCounter();
  readonly #problems: Scan['problems'] = { count: 0, first: [] };
  readonly #places: number[] = [];
  #rows = 0;
  #columns: Scan['columns'] | null = null;
  #done = 0;

  constructor(
    private readonly files: Files,
    private readonly stamps: Scan['files'],
  ) {}

  /** Reads all; `pause` is awaited after each part. */
  async run(pause: (rows: number) => Promise<void>, signal?: AbortSignal): Promise<Scan> {
    const total = this.stamps.reduce((sum, { bytes }) => sum + bytes, 0);
    let before = 0;
    for await (const { file, linesBefore, rows } of scannedRows(this.files, null, signal)) {
      for (const { line, offset, row, problem } of rows) {
        if (!row) {
          this.#problems.count++;
          if (this.#problems.first.length < shownProblems) {
            this.#problems.first.push({
              line: linesBefore + line,
              message: this.#named(file, line, problem ?? ''),
            });
          }
          continue;
        }
        if (this.#rows % placeEvery === 0) this.#places.push(file, offset, line, linesBefore);
        this.#rows++;
        this.#counter.add(row);
      }
      before = this.stamps.slice(0, file).reduce((sum, { bytes }) => sum + bytes, 0);
      const offset = rows.at(-1)?.offset ?? 0;
      this.#done = (before + Math.min(offset, this.stamps[file]!.bytes)) / total;
      this.#columns = null;
      await pause(this.#rows);
    }
    return this.found;
  }

  /** Of many files, a problem says which. */
  #named(file: number, line: number, problem: string): string {
    return this.stamps.length === 1 ? problem : `${basename(this.stamps[file]!.path)}, ${line}: ${problem}`;
  }

  /** Share of the bytes that has been read, 0..1. */
  get share(): number {
    return this.#done;
  }

  get found(): Scan {
    return {
      format: 2,
      files: this.stamps,
      rows: this.#rows,
      columns: (this.#columns ??= this.#counter.columns()),
      moreColumns: this.#counter.more,
      problems: this.#problems,
      places: this.#places,
    };
  }
}

/** Columns that other programs put into the prompt, and that play no part here. */
const unread: Record<string, string> = {
  tools: 'which functions a model may call is not written into its prompt',
  functions: 'which functions a model may call is not written into its prompt',
  images: 'pictures are not read',
  image: 'pictures are not read',
  videos: 'films are not read',
  audio: 'sounds are not read',
};

export function noteOfColumns({ columns, moreColumns }: Pick<Scan, 'columns' | 'moreColumns'>): string[] {
  const passedOver = columns.flatMap(({ name, type, filled }) => {
    const why = Object.hasOwn(unread, name.toLowerCase()) ? unread[name.toLowerCase()] : undefined;
    return why === undefined || type === 'null' || filled === 0
      ? []
      : [`The column "${name}" is not used: ${why}.`];
  });
  if (moreColumns === 0) return passedOver;
  return [
    ...passedOver,
    `It has ${maxColumns + moreColumns} columns: the first ${maxColumns} are listed, and only these can be used.`,
  ];
}

export interface DataRow {
  /** Names the row in its data set: its line, or its number; counted on from file to file. */
  line: number;
  row: Record<string, unknown>;
}

/** Usable rows from row number `from` on (0-based), one after another. */
export async function* readRows(files: Files, places: Scan['places'], from = 0): AsyncGenerator<DataRow> {
  const index = Math.floor(from / placeEvery) * placeNumbers;
  if (from > 0 && index >= places.length) return;
  const [file = 0, offset = 0, line = 1, linesBefore = 0] = places.slice(index, index + placeNumbers);
  let skip = from % placeEvery;
  for await (const part of scannedRows(files, { file, linesBefore, offset, line })) {
    for (const { line: inFile, row } of part.rows) {
      if (row && skip-- <= 0) yield { line: part.linesBefore + inFile, row };
    }
  }
}

async function* scannedRows(
  { format, paths }: Files,
  from: (Place & { file: number; linesBefore: number }) | null,
  signal?: AbortSignal,
): AsyncGenerator<{ file: number; linesBefore: number; rows: ScannedRow[] }> {
  let linesBefore = from?.linesBefore ?? 0;
  for (let file = from?.file ?? 0; file < paths.length; file++) {
    const path = paths[file]!;
    let last = 0;
    const place = from !== null && file === from.file ? from : START;
    try {
      for await (const rows of format.read(path, place, signal)) {
        last = rows.at(-1)?.line ?? last;
        yield { file, linesBefore, rows };
      }
    } catch (error) {
      throw signal?.aborted ? error : unreadable(error, path, format);
    }
    linesBefore += last;
  }
}

/** What the file system says stays; anything else is the file's own fault. */
function unreadable(error: unknown, path: string, format: Format): unknown {
  const name = basename(path);
  if (error instanceof AtelierError) {
    return new AtelierError(error.code, `${name}: ${error.message}`, error.hint, error.details);
  }
  if ((error as NodeJS.ErrnoException).syscall !== undefined) return error;
  const why = (error instanceof Error ? error.message : String(error)).slice(0, 300);
  return new AtelierError('invalid_file', `${name} cannot be read as ${format.name}: ${why}.`, format.hint);
}
