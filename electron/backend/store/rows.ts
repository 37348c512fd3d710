import type { StoredRow } from '../../../shared/contract/runs';
import type { Span, Timeline } from '../../../shared/contract/timeline';

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

/** A timeline's row without its place and time. */
export interface RawTimeline {
  step: number;
  began: number;
  length: number;
  spans: string;
}

export const spansToText = (spans: readonly Span[]): string =>
  JSON.stringify(spans.map(({ lane, phase, start, end, busy }) => [lane, phase, start, end, busy]));

export function toTimeline({ spans, ...rest }: RawTimeline): Timeline {
  const rows = JSON.parse(spans) as [Span['lane'], Span['phase'], number, number, number][];
  return {
    ...rest,
    spans: rows.map(([lane, phase, start, end, busy]) => ({ lane, phase, start, end, busy })),
  };
}

/** A row of the six tables' union, with its kind. Columns that a kind lacks are null. */
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
  began: number | null;
  length: number | null;
  spans: string | null;
}

const NOTHING = {
  step: 'NULL',
  metrics: 'NULL',
  status: 'NULL',
  message: 'NULL',
  level: 'NULL',
  code: 'NULL',
  hint: 'NULL',
  bytes: 'NULL',
  began: 'NULL',
  length: 'NULL',
  spans: 'NULL',
};

function part(kind: StoredRow['kind'], table: string, columns: (keyof typeof NOTHING)[]): string {
  const given = { ...NOTHING, ...Object.fromEntries(columns.map((name) => [name, name])) };
  const list = Object.entries(given).map(([name, column]) => `${column} AS ${name}`);
  return `SELECT '${kind}' AS kind, seq, at, ${list.join(', ')} FROM ${table} WHERE seq > :after`;
}

/** All kinds of a store's version in one order; parameters: after, limit. */
export function rowsAfterSql(version: number): string {
  const parts = [
    part('step', 'steps', ['step', 'metrics']),
    part('state', 'states', ['status', 'message']),
    part('event', 'events', ['step', 'message', 'level', 'code', 'hint']),
    part('evaluation', 'evaluations', ['step', 'metrics']),
    part('checkpoint', 'checkpoints', ['step', 'bytes']),
    ...(version >= TIMELINES ? [part('timeline', 'timelines', ['step', 'began', 'length', 'spans'])] : []),
  ];
  return `${parts.join(' UNION ALL ')} ORDER BY seq LIMIT :limit`;
}

/** The first version of a store that has timelines. */
export const TIMELINES = 3;

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
    case 'timeline':
      return { kind: 'timeline', seq, at, ...toTimeline(picked(raw)) };
  }
}

const picked = ({ step, began, length, spans }: RawRow): RawTimeline => ({
  step: step!,
  began: began!,
  length: length!,
  spans: spans!,
});
