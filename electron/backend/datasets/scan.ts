import { stat } from 'node:fs/promises';
import { z } from 'zod';
import { Column, DatasetType, Mapping, RowProblem } from '../../../shared/contract/datasets';
import { ColumnCounter } from './columns';
import { formatOf, type Place, type ScannedRow } from './formats';
import { suggestMapping } from './mapping';

/** A place is kept each so many rows: enough to page at once, little for a file of any size. */
export const placeEvery = 128;
const shownProblems = 50;

/** What one pass over a data file tells. Kept until the file's size or time changes. */
export const Scan = z.object({
  format: z.literal(1),
  bytes: z.number(),
  mtimeMs: z.number(),
  rows: z.number().int(),
  columns: z.array(Column),
  type: DatasetType,
  suggestedMapping: Mapping,
  problems: z.object({ count: z.number().int(), first: z.array(RowProblem) }),
  /** [rows / placeEvery] offset and line of every 128th row, in pairs. */
  places: z.array(z.number()),
});
export type Scan = z.infer<typeof Scan>;

export async function scan(path: string, signal?: AbortSignal): Promise<Scan> {
  const format = formatOf(path);
  const { size, mtimeMs } = await stat(path);
  const counter = new ColumnCounter();
  const problems: Scan['problems'] = { count: 0, first: [] };
  const places: number[] = [];
  let rows = 0;
  for await (const scanned of format.read(path, { offset: 0, line: 1 }, signal)) {
    for (const { line, offset, row, problem } of scanned) {
      if (!row) {
        problems.count++;
        if (problems.first.length < shownProblems) problems.first.push({ line, message: problem ?? '' });
        continue;
      }
      if (rows % placeEvery === 0) places.push(offset, line);
      rows++;
      counter.add(row);
    }
  }
  const columns = counter.columns();
  const { mapping, type } = suggestMapping(columns);
  return {
    format: 1,
    bytes: size,
    mtimeMs,
    rows,
    columns,
    type,
    suggestedMapping: mapping,
    problems,
    places,
  };
}

export interface DataRow {
  line: number;
  row: Record<string, unknown>;
}

/** Usable rows from row number `from` on (0-based), one after another. */
export async function* readRows(path: string, places: Scan['places'], from = 0): AsyncGenerator<DataRow> {
  const index = Math.floor(from / placeEvery) * 2;
  if (from > 0 && index >= places.length) return;
  const place: Place = { offset: places[index] ?? 0, line: places[index + 1] ?? 1 };
  let skip = from % placeEvery;
  for await (const scanned of formatOf(path).read(path, place)) {
    for (const { line, row } of scanned as ScannedRow[]) {
      if (row && skip-- <= 0) yield { line, row };
    }
  }
}
