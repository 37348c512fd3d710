import type { StoredRow } from '../../../shared/contract/runs';

type Metrics = Record<string, number>;

/** JSON has no NaN and no infinities; metrics keep them, as strings. */
export function metricsToText(metrics: Metrics): string {
  return JSON.stringify(metrics, (_key, value: unknown) =>
    typeof value === 'number' && !Number.isFinite(value) ? String(value) : value,
  );
}

export function metricsFromText(text: string): Metrics {
  const metrics = JSON.parse(text) as Record<string, number | string>;
  for (const [key, value] of Object.entries(metrics))
    if (typeof value === 'string') metrics[key] = Number(value);
  return metrics as Metrics;
}

/** A row of the five tables' union, with its kind. Columns that a kind lacks are null. */
export interface RawRow {
  kind: StoredRow['kind'];
  seq: number;
  at: number;
  step: number | null;
  metrics: string | null;
  status: string | null;
  message: string | null;
  level: string | null;
  code: string | null;
  hint: string | null;
  bytes: number | null;
}

/** All kinds in one order; parameters: after (5 times), limit. */
export const rowsAfterSql = `
  SELECT 'step' kind, seq, at, step, metrics, NULL status, NULL message, NULL level, NULL code, NULL hint, NULL bytes
    FROM steps WHERE seq > :after
  UNION ALL SELECT 'state', seq, at, NULL, NULL, status, message, NULL, NULL, NULL, NULL FROM states WHERE seq > :after
  UNION ALL SELECT 'event', seq, at, step, NULL, NULL, message, level, code, hint, NULL FROM events WHERE seq > :after
  UNION ALL SELECT 'evaluation', seq, at, step, metrics, NULL, NULL, NULL, NULL, NULL, NULL
    FROM evaluations WHERE seq > :after
  UNION ALL SELECT 'checkpoint', seq, at, step, NULL, NULL, NULL, NULL, NULL, NULL, bytes
    FROM checkpoints WHERE seq > :after
  ORDER BY seq LIMIT :limit`;

export function toStoredRow(raw: RawRow): StoredRow {
  const { seq, at } = raw;
  switch (raw.kind) {
    case 'step':
    case 'evaluation':
      return { kind: raw.kind, seq, at, step: raw.step!, metrics: metricsFromText(raw.metrics!) };
    case 'state':
      return {
        kind: 'state',
        seq,
        at,
        status: raw.status as never,
        ...(raw.message === null ? {} : { message: raw.message }),
      };
    case 'event':
      return {
        kind: 'event',
        seq,
        at,
        step: raw.step!,
        level: raw.level as never,
        code: raw.code!,
        message: raw.message!,
        ...(raw.hint === null ? {} : { hint: raw.hint }),
      };
    case 'checkpoint':
      return { kind: 'checkpoint', seq, at, step: raw.step!, bytes: raw.bytes! };
  }
}
