/** A rising number from a callback, as an async iterable of its newest values. */
export class LatestNumber implements AsyncIterable<number> {
  #value = 0;
  #shown = -1;
  #over = false;
  #wake: () => void = () => undefined;

  set(value: number): void {
    this.#value = value;
    this.#wake();
  }

  end(): void {
    this.#over = true;
    this.#wake();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<number> {
    while (!this.#over) {
      if (this.#value !== this.#shown) {
        this.#shown = this.#value;
        yield this.#value;
      } else await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }
}
