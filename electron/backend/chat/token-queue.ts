/** Token ids from a callback, as an async iterable: what came since the last turn in one piece. */
export class TokenQueue implements AsyncIterable<number[]> {
  #ids: number[] = [];
  #over = false;
  #wake: () => void = () => undefined;

  push(ids: Iterable<number>): void {
    this.#ids.push(...ids);
    this.#wake();
  }

  end(): void {
    this.#over = true;
    this.#wake();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<number[]> {
    for (;;) {
      if (this.#ids.length > 0) yield this.#ids.splice(0);
      else if (this.#over) return;
      else await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }
}
