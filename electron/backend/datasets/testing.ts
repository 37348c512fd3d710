// What the tests of this folder share.
import type { DataKind } from '../../../shared/algorithms';
import { makeRows, type PrepareOptions } from './prepare';
import type { RowOf } from './rows';
import type { DataRow } from './scan';

export type Row = Record<string, unknown>;

export async function* lines(rows: readonly Row[]): AsyncGenerator<DataRow> {
  for (const [k, row] of rows.entries()) yield { line: k + 1, row };
}

/** Rows as an algorithm takes them, and each that is left out. */
export async function prepared<K extends DataKind>(
  kind: K,
  rows: AsyncIterable<DataRow>,
  options: PrepareOptions,
) {
  const found = {
    rows: [] as RowOf[K][],
    problems: [] as { line: number; message: string; reason: string }[],
  };
  for await (const made of makeRows(kind, rows, options)) {
    if (made.left) found.problems.push({ line: made.line, ...made.left });
    else found.rows.push(made.row);
  }
  return found;
}

export const pieces = async (text: PrepareOptions['text'], ids: Int32Array) =>
  (await text.pieces(ids)).join('');
