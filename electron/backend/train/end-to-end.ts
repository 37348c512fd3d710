import type { Rows } from '../../../native/face';

/** Rows of tokens as the engine takes them. */
export function endToEnd(rows: readonly Int32Array[]): Rows {
  const lengths = Int32Array.from(rows, ({ length }) => length);
  const ids = new Int32Array(lengths.reduce((sum, length) => sum + length, 0));
  let offset = 0;
  for (const row of rows) {
    ids.set(row, offset);
    offset += row.length;
  }
  return { ids, lengths };
}
