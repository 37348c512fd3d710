import type { z } from 'zod';
import type { DataKind } from '../../../shared/algorithms';
import type { Mapping, RowProblem } from '../../../shared/contract/datasets';
import { AtelierError } from '../../../shared/rpc/errors';
import { commonPrefix, type ChatMessage, type ModelText } from '../text';
import { answerOf, isGood, pairExamples, promptMessages, ratedExample, trainingExample } from './row-text';
import type { DataRow } from './scan';

/** A prompt to sample answers to. */
export interface PromptRow {
  line: number;
  /** The prompt as the model sees it, template included. */
  text: string;
  ids: Int32Array;
  answer: string | null;
  messages: ChatMessage[];
  row: Record<string, unknown>;
}

export interface Example {
  text: string;
  ids: Int32Array;
  /** 1 where the token is learnt. */
  lossMask: Uint8Array;
}

/** A row with its answer. */
export interface ExampleRow extends Example {
  line: number;
}

/** Two answers to one prompt, the better and the worse. */
export interface PairRow {
  line: number;
  chosen: Example;
  rejected: Example;
}

/** A row whose answer is good or bad. */
export interface RatedRow extends ExampleRow {
  good: boolean;
}

/** What a row becomes for each kind of algorithm. */
export interface RowOf {
  rollouts: PromptRow;
  examples: ExampleRow;
  pairs: PairRow;
  rated: RatedRow;
}

export interface Prepared<T> {
  rows: T[];
  /** Rows that are left out, by line. */
  problems: z.infer<typeof RowProblem>[];
}

export interface PrepareOptions {
  text: ModelText;
  mapping: Mapping;
  /** Rows with more tokens are left out and counted. */
  maxTokens?: number;
  signal?: AbortSignal;
}

const makers: { [K in DataKind]: (row: DataRow, options: PrepareOptions) => Promise<RowOf[K]> } = {
  async rollouts({ line, row }, { text, mapping }) {
    const messages = promptMessages(row, mapping);
    return { line, ...(await text.prompt(messages)), answer: answerOf(row, mapping), messages, row };
  },
  async examples({ line, row }, { text, mapping }) {
    return { line, ...(await text.example(trainingExample(row, mapping))) };
  },
  async pairs({ line, row }, { text, mapping }) {
    const { chosen, rejected } = pairExamples(row, mapping);
    const pair = { line, chosen: await text.example(chosen), rejected: await text.example(rejected) };
    const start = Math.min(...[pair.chosen, pair.rejected].map(({ lossMask }) => lossMask.indexOf(1)));
    const shared = commonPrefix(pair.chosen.ids, pair.rejected.ids);
    if (shared === pair.chosen.ids.length && shared === pair.rejected.ids.length) {
      throw new AtelierError('invalid_data', 'The two answers are the same: neither is the better');
    }
    if (shared < start) {
      throw new AtelierError(
        'invalid_data',
        'The prompt is written differently before each of the two answers',
      );
    }
    return pair;
  },
  async rated({ line, row }, { text, mapping }) {
    return { line, good: isGood(row, mapping), ...(await text.example(ratedExample(row, mapping))) };
  },
};

/** A row as an algorithm takes it. @throws AtelierError where it cannot be one */
export const makeRow = <K extends DataKind>(
  kind: K,
  row: DataRow,
  options: PrepareOptions,
): Promise<RowOf[K]> => makers[kind](row, options);

const tokens = (made: RowOf[DataKind]): number =>
  'chosen' in made ? Math.max(made.chosen.ids.length, made.rejected.ids.length) : made.ids.length;

/** Rows under way at once: while some are rendered, others are tokenised. */
const ROWS_AT_ONCE = 256;

/** Rows as an algorithm takes them. A row that cannot be one is left out and told, never guessed at. */
export async function prepareRows<K extends DataKind>(
  kind: K,
  rows: AsyncIterable<DataRow>,
  options: PrepareOptions,
): Promise<Prepared<RowOf[K]>> {
  const { maxTokens = Infinity, signal } = options;
  const prepared: Prepared<RowOf[K]> = { rows: [], problems: [] };
  const made = inOrder(rows, ROWS_AT_ONCE, async (row) => {
    try {
      return { line: row.line, made: await makeRow(kind, row, options), problem: '' };
    } catch (error) {
      if (!isRowError(error)) throw error;
      return { line: row.line, made: null, problem: error.message };
    }
  });
  for await (const each of made) {
    signal?.throwIfAborted();
    if (each.made === null) {
      prepared.problems.push({ line: each.line, message: each.problem });
      continue;
    }
    const count = tokens(each.made);
    if (count <= maxTokens) prepared.rows.push(each.made);
    else prepared.problems.push({ line: each.line, message: tooLong(count, maxTokens) });
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

/**
 * Whether a single row can be to blame. A template that overran its budget is not a row's fault: it would overrun
 * on each of them, at seconds a row.
 */
export function isRowError(error: unknown): error is AtelierError {
  if (!(error instanceof AtelierError) || error.details?.['overrun'] === true) return false;
  return error.code === 'invalid_data' || error.code === 'template_failed';
}

export const tooLong = (tokens: number, limit: number) =>
  `${tokens} tokens, more than the limit of ${limit}: it is left out`;
