import type { ChatMessage } from '../text';

/** A prompt to sample answers to. */
export interface PromptRow {
  /** Names the row in its data set, from 1. */
  line: number;
  /** What the person asked, as a person reads it. */
  text: string;
  /** The whole prompt as the model sees it, template included. */
  ids: Int32Array;
  answer: string | null;
  messages: readonly ChatMessage[];
  /** The whole data row, for the reward. */
  row: Record<string, unknown>;
}

export interface Example {
  ids: Int32Array;
  /** One a token: 1 where it is learnt. */
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

/** What a data row becomes for each kind of algorithm. */
export interface RowOf {
  rollouts: PromptRow;
  examples: ExampleRow;
  pairs: PairRow;
  rated: RatedRow;
}

/** Rows by number, wherever they are kept: an array is one. */
export interface RowList<T> {
  readonly length: number;
  at(index: number): T | undefined;
}

/** Token sequences of a row. */
export const sequencesOf = (row: RowOf[keyof RowOf]): Int32Array[] =>
  'chosen' in row ? [row.chosen.ids, row.rejected.ids] : [row.ids];
