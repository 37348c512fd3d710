import { join } from 'node:path';
import type { RewardStatus } from '../../../shared/contract/rewards';
import type { Component, RunStatus } from '../../../shared/contract/runs';
import type { Timeline } from '../../../shared/contract/timeline';
import { checkStore, connect, migrate, type Connection } from './database';
import { StoreReader } from './reader';
import { metricsToText, spansToText } from './rows';

export const STORE_FILE = 'run.sqlite';

export interface NewEvent {
  step: number;
  level: 'info' | 'warning' | 'error';
  /** Stable name. */
  code: string;
  message: string;
  hint?: string;
}

export interface NewGroup {
  group: number;
  line: number;
  prompt: string;
  answer: string | null;
}

export interface NewRollout {
  group: number;
  index: number;
  completion: string;
  reward: number | null;
  status: RewardStatus;
  error?: string | undefined;
  milliseconds: number;
  rewardHash: string;
  advantage: number | null;
  length: number;
  finish: 'stop' | 'length' | 'cancelled';
  meanLogp: number;
  ids?: Int32Array;
  logp?: Float32Array;
  /** Parts of the reward, where it is a weighted sum. */
  components?: Component[];
}

/** A step's answers, before anything is learnt from them. */
export interface Attempt {
  step: number;
  groups: NewGroup[];
  rollouts: NewRollout[];
  events: NewEvent[];
}

export interface FinishedStep extends Attempt {
  metrics: Record<string, number>;
}

/**
 * A run's store, open for writing by its one writer. A step is one transaction that survives a crash of the
 * process; states and checkpoints survive power loss as well.
 */
export class RunStore extends StoreReader {
  readonly #durable: Connection;
  #seq: number;
  #listeners = new Set<() => void>();

  private constructor(file: string) {
    const fast = connect(file, 'normal');
    try {
      migrate(fast, file);
    } catch (error) {
      fast.close();
      throw error;
    }
    super(fast);
    this.#durable = connect(file, 'full');
    const tables = ['steps', 'states', 'events', 'evaluations', 'checkpoints', 'timelines'];
    const newest = tables.map((table) => `SELECT max(seq) AS seq FROM ${table}`).join(' UNION ALL ');
    this.#seq = (fast.prepare(`SELECT max(seq) FROM (${newest})`).pluck().get() as number | null) ?? 0;
  }

  /** Opens or makes the store of a run folder. */
  static open(folder: string): RunStore {
    return new RunStore(join(folder, STORE_FILE));
  }

  /** Reads only. @throws AtelierError unsupported for another version, invalid_file for a damaged store. */
  static read(folder: string): StoreReader {
    const file = join(folder, STORE_FILE);
    const connection = connect(file, 'readonly');
    try {
      checkStore(connection, file);
    } catch (error) {
      connection.close();
      throw error;
    }
    return new StoreReader(connection);
  }

  /** Called after each commit. Returns the unsubscribe. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  addStep(finished: FinishedStep): void {
    this.#commit(this.db, () => {
      this.#insertAnswers(finished);
      this.db
        .prepare('INSERT INTO steps VALUES (?, ?, ?, ?)')
        .run(++this.#seq, Date.now(), finished.step, metricsToText(finished.metrics));
      for (const event of finished.events) this.#insertEvent(event);
    });
  }

  /** Where steps' time went, once they have ended as a whole. One that came before is replaced. */
  addTimelines(timelines: readonly Timeline[]): void {
    if (timelines.length === 0) return;
    this.#commit(this.db, () => {
      for (const { step, began, length, spans } of timelines) {
        this.db.prepare('DELETE FROM timelines WHERE step = ?').run(step);
        this.db
          .prepare('INSERT INTO timelines VALUES (?, ?, ?, ?, ?, ?)')
          .run(++this.#seq, Date.now(), step, began, length, spansToText(spans));
      }
    });
  }

  /** A step that is held back: its answers can be read, and are replaced when it comes again. */
  addAttempt(attempt: Attempt): void {
    this.#commit(this.db, () => {
      this.#insertAnswers(attempt);
      for (const event of attempt.events) this.#insertEvent(event);
    });
  }

  #insertAnswers({ step, groups, rollouts }: Attempt): void {
    for (const table of ['groups', 'rollouts']) {
      this.db.prepare(`DELETE FROM ${table} WHERE step = ?`).run(step);
    }
    const group = this.db.prepare('INSERT INTO groups VALUES (?, ?, ?, ?, ?)');
    for (const g of groups) group.run(step, g.group, g.line, g.prompt, g.answer);
    const rollout = this.db.prepare(
      `INSERT INTO rollouts (step, grp, idx, completion, reward, status, error, milliseconds, reward_hash,
        advantage, length, finish, mean_logp, ids, logp, components)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    );
    for (const r of rollouts) {
      rollout.run(
        step,
        r.group,
        r.index,
        r.completion,
        r.reward,
        r.status,
        r.error ?? null,
        r.milliseconds,
        r.rewardHash,
        r.advantage,
        r.length,
        r.finish,
        r.meanLogp,
        bytesOf(r.ids),
        bytesOf(r.logp),
        r.components ? JSON.stringify(r.components) : null,
      );
    }
  }

  addEvent(event: NewEvent): void {
    this.#commit(this.db, () => this.#insertEvent(event));
  }

  addEvaluation(step: number, metrics: Record<string, number>): void {
    this.#commit(this.db, () => {
      this.db
        .prepare('INSERT INTO evaluations VALUES (?, ?, ?, ?)')
        .run(++this.#seq, Date.now(), step, metricsToText(metrics));
    });
  }

  setStatus(status: RunStatus, message?: string): void {
    this.#commit(this.#durable, () => {
      this.#durable
        .prepare('INSERT INTO states VALUES (?, ?, ?, ?)')
        .run(++this.#seq, Date.now(), status, message ?? null);
    });
  }

  /** The commit that makes a checkpoint exist. */
  addCheckpoint(row: {
    step: number;
    folder: string;
    bytes: number;
    reward: number | null;
    manifest: string;
  }): void {
    this.#commit(this.#durable, () => {
      this.#durable.prepare('DELETE FROM checkpoints WHERE step = ?').run(row.step);
      this.#durable
        .prepare(`INSERT INTO checkpoints VALUES (?, ?, ?, ?, ?, ?, 'ok', ?)`)
        .run(++this.#seq, Date.now(), row.step, row.folder, row.bytes, row.reward, row.manifest);
    });
  }

  markCheckpoint(step: number, state: 'pruned' | 'broken'): void {
    this.#commit(this.#durable, () => {
      this.#durable.prepare('UPDATE checkpoints SET state = ? WHERE step = ?').run(state, step);
    });
  }

  addExport(row: { path: string; checkpoint: number; verified: boolean }): void {
    this.#commit(this.#durable, () => {
      this.#durable
        .prepare('INSERT INTO exports VALUES (?, ?, ?, ?)')
        .run(Date.now(), row.path, row.checkpoint, row.verified ? 1 : 0);
    });
  }

  /** Forgets what lies beyond a checkpoint; those steps come again. `seq` goes on: it is never used twice. */
  rewindTo(step: number): void {
    this.#commit(this.#durable, () => {
      for (const table of ['steps', 'groups', 'rollouts', 'evaluations', 'events', 'timelines']) {
        this.#durable.prepare(`DELETE FROM ${table} WHERE step > ?`).run(step);
      }
    });
  }

  override close(): void {
    this.#listeners.clear();
    this.#durable.close();
    super.close();
  }

  #insertEvent(event: NewEvent): void {
    this.db
      .prepare('INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?)')
      .run(++this.#seq, Date.now(), event.step, event.level, event.code, event.message, event.hint ?? null);
  }

  /** A failed commit gives its numbers back: nobody has seen them. */
  #commit(connection: Connection, write: () => void): void {
    const before = this.#seq;
    try {
      connection.transaction(write).immediate();
    } catch (error) {
      this.#seq = before;
      throw error;
    }
    for (const listener of this.#listeners) listener();
  }
}

function bytesOf(array: Int32Array | Float32Array | undefined): Buffer | null {
  return array ? Buffer.from(array.buffer, array.byteOffset, array.byteLength) : null;
}
