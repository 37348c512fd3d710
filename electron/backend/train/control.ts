/** `close`: the backend is going away; the run is left as it is, to be resumed. */
export type Wish = 'run' | 'pause' | 'stop' | 'close';

/** What its person wants of a run, and the waiting for it. */
export class RunControl {
  #wish: Wish = 'run';
  #abort = new AbortController();
  readonly #waiters = new Set<() => void>();

  get wish(): Wish {
    return this.#wish;
  }

  /** Aborted while anything but `run` is wanted. Work under it is thrown away and done again. */
  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  want(wish: Wish): void {
    if (this.#wish === 'close') return;
    this.#wish = wish;
    if (wish === 'run') this.#abort = new AbortController();
    else this.#abort.abort();
    for (const wake of [...this.#waiters]) wake();
  }

  /** Settles at the next change of wish, or after `ms`. */
  changed(ms?: number): Promise<void> {
    return new Promise((resolve) => {
      const wake = () => {
        clearTimeout(timer);
        this.#waiters.delete(wake);
        resolve();
      };
      const timer = ms === undefined ? undefined : setTimeout(wake, ms);
      this.#waiters.add(wake);
    });
  }
}
