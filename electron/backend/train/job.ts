import type { AdapterInfo, Engine, ModelInfo } from '../../../native/face';
import type { RewardStatus } from '../../../shared/contract/rewards';
import type { Component, Progress, RunConfig } from '../../../shared/contract/runs';
import type { Algorithm, CommonParams, DataKind } from '../../../shared/algorithms';
import type { RunStore } from '../store';
import type { RunControl } from './control';

/** A prompt to sample answers to. */
export interface PromptRow {
  /** Line of the data file, from 1. */
  line: number;
  /** As a person reads it. */
  text: string;
  ids: Int32Array;
  answer: string | null;
  /** The conversation; null where the data has plain prompts. */
  messages: readonly { role: string; content: unknown }[] | null;
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

/** Two answers to one prompt. */
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

/** A run's rows, and those that are measured only. */
export type RunData = { [K in DataKind]: { kind: K; rows: RowOf[K][]; heldOut: RowOf[K][] } }[DataKind];

/** Token sequences of a row. */
export const sequencesOf = (row: RowOf[DataKind]): Int32Array[] =>
  'chosen' in row ? [row.chosen.ids, row.rejected.ids] : [row.ids];

export interface Sample {
  prompt: PromptRow;
  completion: string;
  ids: Int32Array;
  /** Place within the step, for the reward's own random numbers. */
  index: number;
}

export interface Score {
  reward: number | null;
  status: RewardStatus;
  error?: string | undefined;
  milliseconds: number;
  /** The parts of a weighted sum; absent where there is one reward, of weight 1. */
  components?: Component[];
}

export interface Scorer {
  /** sha-256 of the code. */
  hash: string;
  /** One score a sample, in order. Failures are statuses, never exceptions. */
  score(samples: Sample[], key: { seed: number; step: number }, signal: AbortSignal): Promise<Score[]>;
}

/** One of a run's rewards. */
export interface WeightedScorer {
  /** Of its part: `reward/<name>`. */
  name: string;
  weight: number;
  scorer: Scorer;
}

/** What the loop asks of a model's text. */
export interface TextSide {
  stopIds: Int32Array;
  /** Tokens as text, control tokens left out. */
  decode(ids: Int32Array): Promise<string>;
}

export interface TrainJob {
  folder: string;
  config: RunConfig;
  algorithm: Algorithm;
  /** Checked by the algorithm's schema. */
  params: CommonParams & Record<string, unknown>;
  engine: Engine;
  model: ModelInfo;
  text: TextSide;
  data: RunData;
  /** None for algorithms on examples. */
  rewards: WeightedScorer[];
  store: RunStore;
  control: RunControl;
  /** Hashes of what a checkpoint belongs to. */
  belongsTo: Record<string, string>;
  /** Writes adapter_config.json into a checkpoint's folder. */
  describeAdapter(folder: string, modules: AdapterInfo['modules']): Promise<void>;
  /** Padded tokens forwarded and differentiated at once at most. */
  microTokens: number;
  settings: { storeTokens: boolean; keepCheckpoints: number };
  onProgress(progress: Progress): void;
}
