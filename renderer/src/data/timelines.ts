import type { Timeline } from '../../../shared/contract/timeline';

/** Where steps' time went, by step, outside React. */
export class Timelines {
  #all: Timeline[] = [];

  get length(): number {
    return this.#all.length;
  }
  /** In the order of their steps. */
  get all(): readonly Timeline[] {
    return this.#all;
  }
  get last(): Timeline | undefined {
    return this.#all.at(-1);
  }

  of(step: number): Timeline | undefined {
    return this.#all[this.#place(step)]?.step === step ? this.#all[this.#place(step)] : undefined;
  }

  /** The nearest before a step, or after it. */
  beside(step: number, by: -1 | 1): Timeline | undefined {
    const at = this.#place(step);
    return by === -1 ? this.#all[at - 1] : this.#all[this.#all[at]?.step === step ? at + 1 : at];
  }

  /** A step that comes again replaces what was recorded from there on. */
  append(timeline: Timeline): void {
    this.truncate(timeline.step - 1);
    this.#all.push(timeline);
  }

  /** Forgets every step after the given one. */
  truncate(step: number): void {
    this.#all.length = this.#place(step + 1);
  }

  /** Index of the first that is not before the step. */
  #place(step: number): number {
    let low = 0;
    let high = this.#all.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#all[middle]!.step < step) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
