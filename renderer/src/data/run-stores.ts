import type { AtelierClient } from './connection';
import { RunStore } from './run-store';

/** How long a run is still followed after the last page left it: going back to it costs nothing then. */
const LINGER_MS = 30_000;

/** The run stores of a page, one a run, followed while something looks at them. */
export class RunStores {
  #client: AtelierClient;
  #stores = new Map<string, { store: RunStore; users: number; timer?: ReturnType<typeof setTimeout> }>();

  constructor(client: AtelierClient) {
    this.#client = client;
  }

  get(id: string): RunStore {
    let entry = this.#stores.get(id);
    if (entry === undefined) {
      const store = new RunStore((after, signal) => this.#client.runs.follow({ id, after }, { signal }));
      entry = { store, users: 0 };
      this.#stores.set(id, entry);
    }
    return entry.store;
  }

  /** Follows the run until the returned function is called. */
  retain(id: string): () => void {
    const store = this.get(id);
    const entry = this.#stores.get(id)!;
    entry.users += 1;
    clearTimeout(entry.timer);
    store.start();
    return () => {
      entry.users -= 1;
      if (entry.users > 0) return;
      entry.timer = setTimeout(() => {
        store.stop();
        this.#stores.delete(id);
      }, LINGER_MS);
    };
  }
}
