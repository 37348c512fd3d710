import type { Metrics } from '../../../shared/contract/runs';

/** Metric values by step in typed arrays that grow; NaN where a step has no value of a key. */
export class Series {
  #steps = new Float64Array(256);
  #columns = new Map<string, Float64Array>();
  #length = 0;

  get length(): number {
    return this.#length;
  }
  get steps(): Float64Array {
    return this.#steps.subarray(0, this.#length);
  }
  get keys(): string[] {
    return [...this.#columns.keys()];
  }

  /** A step that comes again (a run resumed before it) replaces what was recorded from there on. */
  append(step: number, metrics: Metrics): void {
    this.truncate(step - 1);
    const at = this.#length;
    if (at === this.#steps.length) this.#grow();
    this.#steps[at] = step;
    this.#length = at + 1;
    for (const column of this.#columns.values()) column[at] = NaN;
    for (const [key, value] of Object.entries(metrics)) {
      let column = this.#columns.get(key);
      if (column === undefined) {
        column = new Float64Array(this.#steps.length).fill(NaN);
        this.#columns.set(key, column);
      }
      column[at] = value;
    }
  }

  /** Forgets every step after the given one. */
  truncate(step: number): void {
    while (this.#length > 0 && this.#steps[this.#length - 1]! > step) this.#length -= 1;
  }

  /** Values of a key, one a step; undefined where it never came. */
  values(key: string): Float64Array | undefined {
    return this.#columns.get(key)?.subarray(0, this.#length);
  }

  /** The last value that is a number. */
  last(key: string): number | null {
    const column = this.values(key);
    if (column === undefined) return null;
    for (let index = column.length - 1; index >= 0; index -= 1) {
      if (!Number.isNaN(column[index]!)) return column[index]!;
    }
    return null;
  }

  /** Index of a step, or of the nearest one before it; -1 before the first. */
  indexOf(step: number): number {
    let low = 0;
    let high = this.#length - 1;
    while (low <= high) {
      const middle = (low + high) >> 1;
      if (this.#steps[middle]! <= step) low = middle + 1;
      else high = middle - 1;
    }
    return high;
  }

  #grow(): void {
    const size = this.#steps.length * 2;
    const grown = (old: Float64Array) => {
      const next = new Float64Array(size).fill(NaN);
      next.set(old);
      return next;
    };
    this.#steps = grown(this.#steps);
    for (const [key, column] of this.#columns) this.#columns.set(key, grown(column));
  }
}
