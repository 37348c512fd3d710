/** Lets so much work through at once; the rest waits its turn. */
export class Gate {
  #inside = 0;
  readonly #waiting: (() => void)[] = [];

  constructor(private readonly width: number) {}

  get idle(): boolean {
    return this.#inside === 0;
  }

  async pass<T>(work: () => Promise<T>): Promise<T> {
    if (this.#inside < this.width) this.#inside++;
    // whoever leaves hands over its place
    else await new Promise<void>((enter) => this.#waiting.push(enter));
    try {
      return await work();
    } finally {
      const next = this.#waiting.shift();
      if (next) next();
      else this.#inside--;
    }
  }
}
