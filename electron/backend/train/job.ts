import type { AdapterId, AdapterInfo, Engine, LoraSpec, ModelId, ModelInfo } from '../../../native/face';
import type { RewardStatus } from '../../../shared/contract/rewards';
import type { Component, Progress, RunConfig } from '../../../shared/contract/runs';
import type { Algorithm, CommonParams, DataKind, Judgement, Rollouts } from '../../../shared/algorithms';
import type { PromptRow, RowList, RowOf } from '../datasets';
import type { RunStore } from '../store';
import type { RunControl } from './control';

/** A run's rows, and those that are measured only. */
export type RunData = {
  [K in DataKind]: { kind: K; rows: RowList<RowOf[K]>; heldOut: RowOf[K][] };
}[DataKind];

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

/** What belongs to all the calls of a step. */
export interface ScoringKey {
  seed: number;
  step: number;
  /** Calls that had to be killed so far. */
  breaks: { count: number };
}

export interface Scorer {
  /** sha-256 of the code. */
  hash: string;
  /**
   * What one call holds: any answer, the answers to one prompt in their order, or all of them. `all`: what is computed by
   * the engine, which has to wait for the last one anyway.
   */
  takes: 'answer' | 'group' | 'all';
  /** One score a sample, in order. Failures are statuses, never exceptions. */
  score(samples: Sample[], key: ScoringKey, signal: AbortSignal): Promise<Score[]>;
}

/** An algorithm as the loop takes it: one of one's own answers from its sandbox. */
export interface UsableAlgorithm extends Pick<
  Algorithm,
  'key' | 'label' | 'metrics' | 'headline' | 'needs' | 'losses'
> {
  steps(params: TrainJob['params'], rows: number): number | Promise<number>;
  advantages?(rollouts: Rollouts, params: TrainJob['params']): Judgement | Promise<Judgement>;
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

/** Weights that answer and are scored: a model, and the adapter on it. */
export interface Weights {
  model: ModelId;
  adapter: AdapterId | null;
}

/** A model of the run's own. */
export interface OwnModel {
  model: ModelInfo;
  release(): Promise<void>;
}

export interface TrainJob {
  folder: string;
  config: RunConfig;
  algorithm: UsableAlgorithm;
  /** Checked by the algorithm's schema. */
  params: CommonParams & Record<string, unknown>;
  engine: Engine;
  /**
   * The model that the run began with, as it is: under an adapter, and the reference. null where all parameters are
   * trained and nothing is held against them.
   */
  base: ModelInfo | null;
  /** Loads what is trained as a whole: the model that the run began with, or that of a checkpoint's folder. */
  openModel(checkpoint: string | null): Promise<OwnModel>;
  contextLength: number;
  text: TextSide;
  data: RunData;
  /** None for algorithms on examples. */
  rewards: WeightedScorer[];
  store: RunStore;
  control: RunControl;
  /** Hashes of what a checkpoint belongs to. */
  belongsTo: Record<string, string>;
  /** Whom the policy learns from; null where the algorithm has no teacher. */
  teacher: { model: ModelId; adapter: AdapterId | null } | null;
  /** Writes adapter_config.json into a checkpoint's folder: of what was asked for, and what the model has made of it. */
  describeAdapter(
    folder: string,
    info: Pick<AdapterInfo, 'modules' | 'saved' | 'scalarHead'>,
    spec: LoraSpec,
  ): Promise<void>;
  /** Padded tokens forwarded and differentiated at once at most. */
  microTokens: number;
  settings: { storeTokens: boolean; keepCheckpoints: number };
  onProgress(progress: Progress): void;
}
