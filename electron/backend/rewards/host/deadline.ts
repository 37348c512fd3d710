import { processorTime } from './protocol';

/** Time that a call may take: of the clock and of the processor, so that a busy machine is no fault. */
export class Deadline {
  overran = false;
  #clock = Infinity;
  #processor = 0;

  arm(milliseconds: number): void {
    this.overran = false;
    this.#clock = performance.now() + milliseconds;
    this.#processor = processorTime() + milliseconds;
  }

  /** What QuickJS asks now and then: whether to stop. */
  over(): boolean {
    const over = performance.now() > this.#clock && processorTime() > this.#processor;
    if (over) this.overran = true;
    return over;
  }

  /** Work of ours, however long it takes. */
  without<T>(work: () => T): T {
    const clock = this.#clock;
    this.#clock = Infinity;
    try {
      return work();
    } finally {
      this.#clock = clock;
    }
  }
}
