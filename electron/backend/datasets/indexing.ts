import { performance } from 'node:perf_hooks';
import { Scanner, type Files, type Scan } from './scan';

/** A file that takes longer is used while it is still being read. */
const patienceMs = 700;

/** A scan under way: its first rows can be used before its end. */
export class Indexing {
  /** Settles when there are rows to use, or at the end. */
  readonly usable: Promise<void>;
  readonly done: Promise<Scan>;
  readonly #abort = new AbortController();
  readonly #scanner: Scanner;
  #complete = false;

  constructor(
    readonly files: Files,
    readonly stamps: Scan['files'],
  ) {
    this.#scanner = new Scanner(files, stamps);
    const start = performance.now();
    let settle!: () => void;
    const begun = new Promise<void>((resolve) => (settle = resolve));
    this.done = this.#scanner
      .run(async (rows) => {
        if (rows > 0 && performance.now() - start > patienceMs) settle();
        // others have their turn between two parts
        await new Promise((resolve) => setImmediate(resolve));
      }, this.#abort.signal)
      .finally(() => (this.#complete = true));
    this.done.catch(() => undefined);
    this.usable = Promise.race([begun, this.done.then(() => undefined)]);
    this.usable.catch(() => undefined);
  }

  get found(): Scan {
    return this.#scanner.found;
  }

  /** Share that has been read, 0..1; null when all has been. */
  get share(): number | null {
    return this.#complete ? null : this.#scanner.share;
  }

  cancel(): void {
    this.#abort.abort();
  }
}
