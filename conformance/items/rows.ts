import type { Rows } from '../../native';
import type { Tensor } from '../safetensors';

export const toRows = (rows: ArrayLike<number>[]): Rows => ({
  ids: Int32Array.from(rows.flatMap((r) => Array.from(r))),
  lengths: Int32Array.from(rows.map((r) => r.length)),
});

/** A [B, L] tensor as rows. */
export function matrix({ shape, data }: Tensor): number[][] {
  const [b, l] = shape;
  return Array.from({ length: b }, (_, i) => Array.from(data.subarray(i * l, (i + 1) * l)));
}

/** A [B, L, ...] tensor's entries at the places where `keep` is 1, row by row. */
export function entriesAt({ shape, data }: Tensor, keep: number[][]): number[] {
  const width = shape.slice(2).reduce((a, b) => a * b, 1);
  return keep.flatMap((row, i) =>
    row.flatMap((k, t) => {
      if (k !== 1) return [];
      const from = (i * shape[1] + t) * width;
      return Array.from(data.subarray(from, from + width));
    }),
  );
}

/** Rows without their padding. */
export const unpadded = (ids: number[][], mask: number[][]): number[][] =>
  ids.map((row, i) => row.filter((_, t) => mask[i][t] === 1));

/** Of [B, L - 1] entries t that predict t + 1: 1 where both are real. */
export const pairsOf = (mask: number[][]): number[][] =>
  mask.map((row) => row.slice(1).map((m, t) => (m === 1 && row[t] === 1 ? 1 : 0)));
