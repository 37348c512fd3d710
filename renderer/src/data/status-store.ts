import type { QueryClient } from '@tanstack/react-query';
import type { z } from 'zod';
import type { SystemStatus as Schema } from '../../../shared/contract/system';
import type { AtelierClient } from './connection';

export type SystemStatus = z.infer<typeof Schema>;

/** What the status bar shows, followed for as long as the page lives. */
export class StatusStore {
  #status: SystemStatus | null = null;
  #listeners = new Set<() => void>();
  #started = false;
  #client: AtelierClient;
  #queries: QueryClient;

  constructor(client: AtelierClient, queries: QueryClient) {
    this.#client = client;
    this.#queries = queries;
  }

  readonly snapshot = () => this.#status;
  readonly subscribe = (listener: () => void) => {
    this.#listeners.add(listener);
    if (!this.#started) {
      this.#started = true;
      void this.#run();
    }
    return () => this.#listeners.delete(listener);
  };

  async #run(): Promise<void> {
    for (let failures = 0; ;) {
      try {
        for await (const status of this.#client.system.follow({})) {
          failures = 0;
          this.#take(status);
        }
      } catch {
        // the connection says what is wrong; here only the next attempt matters
      }
      failures += 1;
      await new Promise((resolve) => setTimeout(resolve, Math.min(5000, 250 * 2 ** failures)));
    }
  }

  #take(status: SystemStatus): void {
    const before = this.#status;
    this.#status = status;
    const changed =
      before !== null &&
      (before.activeRun?.id !== status.activeRun?.id ||
        before.activeRun?.status !== status.activeRun?.status ||
        before.queued !== status.queued);
    if (changed) void this.#queries.invalidateQueries({ queryKey: ['runs'] });
    for (const listener of this.#listeners) listener();
  }
}
