import { createHash } from 'node:crypto';
import type { DataKind } from '../../../shared/algorithms';
import type { DropReason, Mapping } from '../../../shared/contract/datasets';
import { AtelierError } from '../../../shared/rpc/errors';
import { commonPrefix, type ModelText } from '../text';
import { Dropped } from './dropped';
import {
  answerOf,
  askedText,
  isGood,
  pairExamples,
  promptMessages,
  ratedExample,
  trainingExample,
} from './row-text';
import { sequencesOf, type RowOf } from './rows';
import type { DataRow } from './scan';

export interface PrepareOptions {
  text: ModelText;
  mapping: Mapping;
  /** Rows with more tokens are left out and counted. */
  maxTokens?: number;
  /** false: an example's prompt is learnt as well. */
  completionOnly?: boolean;
  /** Rows whose tokens stood in an earlier row are left out and counted. */
  dropDuplicates?: boolean;
  signal?: AbortSignal;
}

const makers: { [K in DataKind]: (row: DataRow, options: PrepareOptions) => Promise<RowOf[K]> } = {
  async rollouts({ line, row }, { text, mapping }) {
    const messages = promptMessages(row, mapping);
    if (text.form === 'chat' && messages.at(-1)?.role === 'assistant') {
      throw dropped(
        'other',
        'The prompt ends with an answer that has begun: going on with one is not supported',
      );
    }
    const { ids } = await text.prompt(messages);
    return { line, text: askedText(messages), ids, answer: answerOf(row, mapping), messages, row };
  },
  async examples({ line, row }, { text, mapping, completionOnly = true }) {
    const { ids, lossMask } = await text.example(trainingExample(row, mapping));
    return { line, ids, lossMask: completionOnly ? lossMask : lossMask.fill(1) };
  },
  async pairs({ line, row }, { text, mapping }) {
    const { chosen, rejected } = pairExamples(row, mapping);
    const [better, worse] = await Promise.all([text.example(chosen), text.example(rejected)]);
    const start = Math.min(better.lossMask.indexOf(1), worse.lossMask.indexOf(1));
    const shared = commonPrefix(better.ids, worse.ids);
    if (shared === better.ids.length && shared === worse.ids.length) {
      throw dropped('same-answers', 'The two answers are the same: neither is the better');
    }
    if (shared < start) {
      throw dropped('other', 'The prompt is written differently before each of the two answers');
    }
    const example = ({ ids, lossMask }: typeof better) => ({ ids, lossMask });
    return { line, chosen: example(better), rejected: example(worse) };
  },
  async rated({ line, row }, { text, mapping }) {
    const good = isGood(row, mapping);
    const { ids, lossMask } = await text.example(ratedExample(row, mapping));
    return { line, good, ids, lossMask };
  },
};

const dropped = (reason: DropReason, message: string) =>
  new AtelierError('invalid_data', message, undefined, { reason });

/** A row as an algorithm takes it. @throws AtelierError where it cannot be one */
export const makeRow = <K extends DataKind>(
  kind: K,
  row: DataRow,
  options: PrepareOptions,
): Promise<RowOf[K]> => makers[kind](row, options);

/** Rows under way at once: while some are rendered, others are tokenised. */
const ROWS_AT_ONCE = 256;

/** A row as an algorithm takes it, or why it is left out. */
export type Made<Row> =
  { line: number; left: null; row: Row } | { line: number; left: { reason: DropReason; message: string } };

/** Rows as an algorithm takes them, in order. A row that cannot be one is told, never guessed at. */
export async function* makeRows<K extends DataKind>(
  kind: K,
  rows: AsyncIterable<DataRow>,
  options: PrepareOptions,
): AsyncGenerator<Made<RowOf[K]>> {
  const { maxTokens = Infinity, dropDuplicates = false, signal } = options;
  const seen = new Set<number>();
  const making = inOrder(rows, ROWS_AT_ONCE, async ({ line, row }): Promise<Made<RowOf[K]>> => {
    try {
      return { line, left: null, row: await makeRow(kind, { line, row }, options) };
    } catch (error) {
      if (!isRowError(error)) throw error;
      return { line, left: { reason: reasonOf(error), message: error.message } };
    }
  });
  for await (const made of making) {
    signal?.throwIfAborted();
    if (made.left) {
      yield made;
      continue;
    }
    const { line, row } = made;
    const tokens = Math.max(...sequencesOf(row).map(({ length }) => length));
    if (tokens > maxTokens) {
      yield { line, left: { reason: 'too-long', message: tooLong(tokens, maxTokens) } };
      continue;
    }
    const hash = dropDuplicates ? hashOf(sequencesOf(row)) : line;
    if (dropDuplicates && seen.has(hash)) {
      yield { line, left: { reason: 'duplicate', message: 'its tokens stand in an earlier row' } };
      continue;
    }
    if (dropDuplicates) seen.add(hash);
    yield made;
  }
}

/** `makeRows`, all in memory. */
export async function prepareRows<K extends DataKind>(
  kind: K,
  rows: AsyncIterable<DataRow>,
  options: PrepareOptions,
): Promise<{ rows: RowOf[K][]; dropped: Dropped }> {
  const prepared = { rows: [] as RowOf[K][], dropped: new Dropped() };
  for await (const made of makeRows(kind, rows, options)) {
    if (made.left) prepared.dropped.add(made.left.reason, made.line, made.left.message);
    else prepared.rows.push(made.row);
  }
  return prepared;
}

/** What `work` makes of each item, in the items' order, `atOnce` of them under way. */
async function* inOrder<T, R>(
  items: AsyncIterable<T>,
  atOnce: number,
  work: (item: T) => Promise<R>,
): AsyncGenerator<R> {
  const running: Promise<R>[] = [];
  for await (const item of items) {
    const result = work(item);
    // it is looked at in its turn
    result.catch(() => undefined);
    running.push(result);
    if (running.length >= atOnce) yield await running.shift()!;
  }
  for (const result of running) yield await result;
}

/** 52 bits: two of ten million different rows are taken for one in one case of a hundred. */
function hashOf(sequences: readonly Int32Array[]): number {
  const hash = createHash('sha256');
  for (const ids of sequences) hash.update(Int32Array.of(ids.length)).update(ids);
  const digest = hash.digest();
  return digest.readUInt32LE(0) * 2 ** 20 + (digest.readUInt32LE(4) >>> 12);
}

/**
 * Whether a single row can be to blame. A template that overran its budget is not a row's fault: it would overrun
 * on each of them, at seconds a row.
 */
export function isRowError(error: unknown): error is AtelierError {
  if (!(error instanceof AtelierError) || error.details?.['overrun'] === true) return false;
  return error.code === 'invalid_data' || error.code === 'template_failed';
}

const reasonOf = (error: AtelierError) => (error.details?.['reason'] as DropReason | undefined) ?? 'other';

export const tooLong = (tokens: number, limit: number) =>
  `${tokens} tokens, more than the limit of ${limit}: it is left out`;
