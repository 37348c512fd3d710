import { join } from 'node:path';
import { BASE_WEIGHTS, type BaseWeights } from '../../../shared/algorithms';
import type { Progress, RunStatus } from '../../../shared/contract/runs';
import { AtelierError } from '../../../shared/rpc';
import {
  checkCheckpoint,
  CHECKPOINTS,
  RunStore,
  runsFolder,
  writeRecord,
  type CommittedCheckpoint,
  type RunRecord,
  type StoreReader,
} from '../store';
import type { Taught } from '../system';
import type { RunControl } from '../train';

/** A run at work: the one writer of its store. */
export interface Live {
  store: RunStore;
  control: RunControl;
  progress: Progress | null;
  /** Settles when the work has ended and the store is closed. */
  ended: Promise<void>;
}

/** A run folder as the backend holds it. */
export class RunEntry {
  readonly folder: string;
  record: RunRecord | null = null;
  /** Why it cannot be read. */
  corrupt: string | null = null;
  #live: Live | null = null;
  #reader: StoreReader | null = null;
  #version = 0;
  readonly #waiting = new Set<() => void>();

  constructor(
    home: string,
    readonly id: string,
  ) {
    this.folder = join(runsFolder(home), id);
  }

  get live(): Live | null {
    return this.#live;
  }

  set live(live: Live | null) {
    this.#reader?.close();
    this.#reader = null;
    this.#live = live;
    this.changed();
  }

  /** Rises with everything that a reader could see. */
  get version(): number {
    return this.#version;
  }

  changed(): void {
    this.#version++;
    for (const wake of [...this.#waiting]) wake();
  }

  /** Settles once the version is another than `seen`, or the signal aborts. */
  until(seen: number, signal: AbortSignal): Promise<void> {
    if (this.#version !== seen || signal.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      const wake = () => {
        this.#waiting.delete(wake);
        signal.removeEventListener('abort', wake);
        resolve();
      };
      this.#waiting.add(wake);
      signal.addEventListener('abort', wake, { once: true });
    });
  }

  get readable(): RunRecord {
    if (this.record) return this.record;
    throw new AtelierError(
      'invalid_file',
      `The run "${this.id}" cannot be read: ${this.corrupt ?? 'it is gone'}`,
      `Put back its file from a copy, or remove the run. Adapters that it saved are in ${join(this.folder, CHECKPOINTS)}.`,
    );
  }

  get reader(): StoreReader {
    if (this.#live) return this.#live.store;
    this.#reader ??= RunStore.read(this.folder);
    return this.#reader;
  }

  get status(): RunStatus {
    if (!this.record) return 'corrupt';
    return this.reader.status()?.status ?? 'failed';
  }

  /** How its base was kept in memory. Runs of earlier versions had it as stored. */
  get baseWeights(): BaseWeights {
    const { baseWeights } = this.readable.config.params;
    return BASE_WEIGHTS.find((each) => each === baseWeights) ?? 'stored';
  }

  /** What its checkpoints hold. */
  get holds(): Taught['kind'] {
    return this.readable.config.params['method'] === 'full' ? 'model' : 'adapter';
  }

  /** A committed checkpoint, the newest where no step is named. @throws AtelierError not_found */
  checkpoint(step?: number): CommittedCheckpoint {
    void this.readable;
    const all = this.reader.checkpoints();
    const found = step === undefined ? all.at(-1) : all.find((checkpoint) => checkpoint.step === step);
    if (found) return found;
    throw new AtelierError(
      'not_found',
      step === undefined ? 'The run has no checkpoint yet.' : `There is no checkpoint of step ${step}.`,
      all.length === 0
        ? 'Wait for the first, or stop and save.'
        : `There are ${all.map((c) => c.step).join(', ')}.`,
    );
  }

  /** What a checkpoint holds; see checkpointFolder. */
  async taught(step?: number, by?: 'sizes' | 'hashes'): Promise<Taught> {
    const folder = await this.checkpointFolder(step, by);
    if (this.holds === 'model') return { kind: 'model', folder };
    return { kind: 'adapter', folder, weights: this.baseWeights };
  }

  /** Its folder, which PEFT or transformers could load. @throws AtelierError not_found, or invalid_file where it is damaged */
  async checkpointFolder(step?: number, by: 'sizes' | 'hashes' = 'sizes'): Promise<string> {
    const checkpoint = this.checkpoint(step);
    const folder = join(this.folder, CHECKPOINTS, checkpoint.folder);
    await checkCheckpoint(folder, checkpoint.step, by);
    return folder;
  }

  /** The number of steps as it is once all rows are prepared. */
  async setSteps(steps: number): Promise<void> {
    const record = this.readable;
    if (record.steps === steps) return;
    this.record = { ...record, steps };
    await writeRecord(this.folder, this.record);
    this.changed();
  }

  /** Writes through the live store, or through one opened for this. */
  write(change: (store: RunStore) => void): void {
    if (this.#live) {
      change(this.#live.store);
      return;
    }
    const store = RunStore.open(this.folder);
    try {
      change(store);
    } finally {
      store.close();
    }
    this.changed();
  }

  close(): void {
    this.#reader?.close();
    this.#reader = null;
  }
}
