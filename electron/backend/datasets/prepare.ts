import type { z } from 'zod';
import type { Mapping, RowProblem } from '../../../shared/contract/datasets';
import { AtelierError } from '../../../shared/rpc/errors';
import type { ChatMessage, ModelText } from '../text';
import { answerOf, promptMessages, trainingExample } from './row-text';
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

/** A row with its answer. */
export interface ExampleRow {
  line: number;
  text: string;
  ids: Int32Array;
  /** 1 where the token is learnt. */
  lossMask: Uint8Array;
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

/** Rows as prompts. A row that cannot be one is left out and told, never guessed at. */
export function preparePrompts(
  rows: AsyncIterable<DataRow>,
  options: PrepareOptions,
): Promise<Prepared<PromptRow>> {
  return prepare(rows, options, async ({ line, row }) => promptRow({ line, row }, options));
}

/** Rows as examples to learn. */
export function prepareExamples(
  rows: AsyncIterable<DataRow>,
  options: PrepareOptions,
): Promise<Prepared<ExampleRow>> {
  return prepare(rows, options, async ({ line, row }) => ({
    line,
    ...(await options.text.example(trainingExample(row, options.mapping))),
  }));
}

export async function promptRow(
  { line, row }: DataRow,
  { text, mapping }: PrepareOptions,
): Promise<PromptRow> {
  const messages = promptMessages(row, mapping);
  return { line, ...(await text.prompt(messages)), answer: answerOf(row, mapping), messages, row };
}

async function prepare<T extends { ids: Int32Array }>(
  rows: AsyncIterable<DataRow>,
  { maxTokens, signal }: PrepareOptions,
  make: (row: DataRow) => Promise<T>,
): Promise<Prepared<T>> {
  const prepared: Prepared<T> = { rows: [], problems: [] };
  for await (const row of rows) {
    signal?.throwIfAborted();
    try {
      const made = await make(row);
      if (maxTokens === undefined || made.ids.length <= maxTokens) prepared.rows.push(made);
      else prepared.problems.push({ line: row.line, message: tooLong(made.ids.length, maxTokens) });
    } catch (error) {
      if (!isRowError(error)) throw error;
      prepared.problems.push({ line: row.line, message: error.message });
    }
  }
  return prepared;
}

/**
 * Whether a single row can be to blame. A template that overran its budget is not a row's fault: it would overrun
 * on each of them, at two seconds a row.
 */
export function isRowError(error: unknown): error is AtelierError {
  if (!(error instanceof AtelierError) || error.details?.['overrun'] === true) return false;
  return error.code === 'invalid_data' || error.code === 'template_failed';
}

export const tooLong = (tokens: number, limit: number) =>
  `${tokens} tokens, more than the limit of ${limit}: it is left out`;
