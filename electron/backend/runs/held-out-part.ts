import { draw } from '../train';

/**
 * Which rows of a data set are kept out of training, by their numbers: `part` below 1 is a share, from 1 on a count.
 * The same for the same number of rows, part and seed, whatever else a run chooses.
 */
export class HeldOutPart {
  readonly count: number;
  readonly #bits: Uint8Array;

  constructor(rows: number, part: number, seed: number) {
    this.count = Math.min(rows, part < 1 ? Math.max(1, Math.round(part * rows)) : Math.floor(part));
    this.#bits = new Uint8Array(Math.ceil(rows / 8));
    // Floyd's sampling: each of the subsets is as likely
    for (let top = rows - this.count; top < rows; top++) {
      const drawn = Math.floor((draw(seed, 'split', 0, top) / 2 ** 53) * (top + 1));
      const chosen = this.has(drawn) ? top : drawn;
      this.#bits[chosen >> 3]! |= 1 << (chosen & 7);
    }
  }

  has(row: number): boolean {
    return (this.#bits[row >> 3]! & (1 << (row & 7))) !== 0;
  }
}
