/** The step under the pointer, shared by all charts of a board: they follow it without drawing again. */
export class Hover {
  #step: number | null = null;
  #listeners = new Set<() => void>();

  readonly subscribe = (listener: () => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };
  readonly step = () => this.#step;

  set(step: number | null): void {
    if (step === this.#step) return;
    this.#step = step;
    for (const listener of this.#listeners) listener();
  }
}
