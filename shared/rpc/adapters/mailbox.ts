/** Keeps what arrives until someone listens, and tells of the close once. Shared by all adapters. */
export class Mailbox {
  #kept: unknown[] = [];
  #listener: ((message: unknown) => void) | null = null;
  #closers: (() => void)[] = [];
  #closed = false;

  get closed(): boolean {
    return this.#closed;
  }

  deliver(message: unknown): void {
    if (this.#listener) this.#listener(message);
    else this.#kept.push(message);
  }

  onMessage(listener: (message: unknown) => void): void {
    this.#listener = listener;
    for (const message of this.#kept.splice(0)) listener(message);
  }

  onClose(listener: () => void): void {
    if (this.#closed) listener();
    else this.#closers.push(listener);
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    for (const listener of this.#closers.splice(0)) listener();
  }
}
