import type { Component, Rollout, RolloutSort, RunStatus, StoredRow } from '../../../shared/contract/runs';
import type { Timeline } from '../../../shared/contract/timeline';
import type { z } from 'zod';
import type { Connection } from './database';
import {
  metricsFromText,
  rowsAfterSql,
  TIMELINES,
  toStoredRow,
  toTimeline,
  type RawRow,
  type RawTimeline,
} from './rows';

export interface RolloutQuery {
  step?: number | undefined;
  group?: number | undefined;
  search?: string | undefined;
  sort: z.infer<typeof RolloutSort>;
  descending: boolean;
  offset: number;
  limit: number;
}

export interface CommittedCheckpoint {
  step: number;
  at: number;
  folder: string;
  bytes: number;
  reward: number | null;
  manifest: string;
}

const sortColumns = {
  order: 'r.id',
  reward: 'r.reward',
  length: 'r.length',
  advantage: 'r.advantage',
} as const;

/** Reads of a run's store, page by page. */
export class StoreReader {
  /** Older stores that are only read have no such column. */
  readonly #components: string;
  /** Of the store: one that is only read is not brought to the newest. */
  readonly #version: number;

  constructor(protected readonly db: Connection) {
    this.#version = db.pragma('user_version', { simple: true }) as number;
    this.#components = this.#version >= 2 ? 'r.components' : 'NULL';
  }

  rowsAfter(after: number, limit = 500): StoredRow[] {
    return (this.db.prepare(rowsAfterSql(this.#version)).all({ after, limit }) as RawRow[]).map(toStoredRow);
  }

  status(): { status: RunStatus; message?: string; at: number } | null {
    const row = this.db.prepare('SELECT status, message, at FROM states ORDER BY seq DESC LIMIT 1').get() as
      { status: RunStatus; message: string | null; at: number } | undefined;
    if (!row) return null;
    return { status: row.status, at: row.at, ...(row.message === null ? {} : { message: row.message }) };
  }

  lastStep(): number {
    return (this.db.prepare('SELECT max(step) FROM steps').pluck().get() as number | null) ?? 0;
  }

  /** A step that was held back: its answers are stored, but it was not learnt. */
  heldStep(): number | null {
    const sql = 'SELECT max(step) FROM groups WHERE step > (SELECT coalesce(max(step), 0) FROM steps)';
    return this.db.prepare(sql).pluck().get() as number | null;
  }

  /** At most `points` values of a metric, evenly spaced, the last one always. */
  series(key: string, points: number): number[] {
    const last = this.lastStep();
    const every = Math.max(1, Math.ceil(last / points));
    const rows = this.db
      .prepare('SELECT metrics FROM steps WHERE (? - step) % ? = 0 ORDER BY step')
      .pluck()
      .all(last, every) as string[];
    return rows.map((text) => metricsFromText(text)[key] ?? NaN).filter((value) => Number.isFinite(value));
  }

  evaluations(): { step: number; metrics: Record<string, number> }[] {
    const rows = this.db.prepare('SELECT step, metrics FROM evaluations ORDER BY seq').all() as {
      step: number;
      metrics: string;
    }[];
    return rows.map(({ step, metrics }) => ({ step, metrics: metricsFromText(metrics) }));
  }

  /** By step; none of runs of earlier versions. */
  timelines(): Timeline[] {
    if (this.#version < TIMELINES) return [];
    const sql = 'SELECT step, began, length, spans FROM timelines ORDER BY step';
    return (this.db.prepare(sql).all() as RawTimeline[]).map(toTimeline);
  }

  stepMetrics(step: number): Record<string, number> | null {
    const text = this.db.prepare('SELECT metrics FROM steps WHERE step = ?').pluck().get(step) as
      string | undefined;
    return text === undefined ? null : metricsFromText(text);
  }

  /** Committed and whole, oldest first. */
  checkpoints(): CommittedCheckpoint[] {
    return this.db
      .prepare(
        `SELECT step, at, folder, bytes, reward, manifest FROM checkpoints WHERE state = 'ok' ORDER BY step`,
      )
      .all() as CommittedCheckpoint[];
  }

  exports(): { path: string; checkpoint: number; at: number; verified: boolean }[] {
    const rows = this.db.prepare('SELECT path, checkpoint, at, verified FROM exports ORDER BY at').all() as {
      path: string;
      checkpoint: number;
      at: number;
      verified: number;
    }[];
    return rows.map((row) => ({ ...row, verified: row.verified === 1 }));
  }

  rollouts(query: RolloutQuery): { total: number; rollouts: Rollout[] } {
    const where: string[] = [];
    const values: Record<string, string | number> = {};
    if (query.step !== undefined) {
      where.push('r.step = :step');
      values['step'] = query.step;
    }
    if (query.group !== undefined) {
      where.push('r.grp = :group');
      values['group'] = query.group;
    }
    if (query.search !== undefined && query.search !== '') {
      where.push(`(r.completion LIKE :search ESCAPE '\\' OR g.prompt LIKE :search ESCAPE '\\')`);
      values['search'] = `%${query.search.replace(/[\\%_]/g, '\\$&')}%`;
    }
    const from = `FROM rollouts r JOIN groups g ON g.step = r.step AND g.grp = r.grp
      ${where.length > 0 ? `WHERE ${where.join(' AND ')}` : ''}`;
    const total = this.db.prepare(`SELECT count(*) ${from}`).pluck().get(values) as number;
    const column = sortColumns[query.sort];
    const direction = query.descending ? 'DESC' : 'ASC';
    const rows = this.db
      .prepare(
        `SELECT r.id, r.step, r.grp AS "group", r.idx AS "index", g.line, g.prompt, r.completion, g.answer, r.reward,
          r.status, r.error, r.advantage, r.length, r.finish, r.mean_logp AS meanLogp, ${this.#components} AS components ${from}
          ORDER BY ${column} IS NULL, ${column} ${direction}, r.id LIMIT :limit OFFSET :offset`,
      )
      .all({ ...values, limit: query.limit, offset: query.offset }) as (Rollout & {
      error: string | null;
      components: string | null;
    })[];
    return {
      total,
      rollouts: rows.map(({ error, components, ...row }) => ({
        ...row,
        ...(error === null ? {} : { error }),
        components: components === null ? [] : (JSON.parse(components) as Component[]),
      })),
    };
  }

  groups(query: { step?: number | undefined; offset: number; limit: number }) {
    const where = query.step === undefined ? '' : 'WHERE step = :step';
    const values = query.step === undefined ? {} : { step: query.step };
    const total = this.db.prepare(`SELECT count(*) FROM groups ${where}`).pluck().get(values) as number;
    const groups = this.db
      .prepare(
        `SELECT g.step, g.grp AS "group", g.prompt, count(r.id) AS size, avg(r.reward) AS rewardMean,
          min(r.reward) AS rewardMin, max(r.reward) AS rewardMax
          FROM (SELECT * FROM groups ${where} ORDER BY step, grp LIMIT :limit OFFSET :offset) g
          LEFT JOIN rollouts r ON r.step = g.step AND r.grp = g.grp GROUP BY g.step, g.grp ORDER BY g.step, g.grp`,
      )
      .all({ ...values, limit: query.limit, offset: query.offset }) as {
      step: number;
      group: number;
      prompt: string;
      size: number;
      rewardMean: number | null;
      rewardMin: number | null;
      rewardMax: number | null;
    }[];
    return { total, groups };
  }

  /** Token ids and logprobs; null where there is no such rollout, empty where tokens were not stored. */
  tokens(id: number): { ids: Int32Array<ArrayBuffer>; logp: Float32Array<ArrayBuffer> } | null {
    const row = this.db.prepare('SELECT ids, logp FROM rollouts WHERE id = ?').get(id) as
      { ids: Buffer | null; logp: Buffer | null } | undefined;
    if (!row) return null;
    return {
      ids: new Int32Array(copy(row.ids)),
      logp: new Float32Array(copy(row.logp)),
    };
  }

  close(): void {
    this.db.close();
  }
}

/** BLOBs lie unaligned in a shared buffer. */
function copy(bytes: Buffer | null): ArrayBuffer {
  if (bytes === null) return new ArrayBuffer(0);
  return bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength) as ArrayBuffer;
}
