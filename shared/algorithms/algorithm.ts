import type { z } from 'zod';
import type { LossProgram } from '../program';

/**
 * Weights that take part. `reference` is the base model without the adapter; `critic` a second adapter on it, with a
 * value head; `teacher` a model (with or without a run's adapter) that the run's configuration names.
 */
export type Role = 'policy' | 'reference' | 'critic' | 'teacher';

/** What one step of the algorithm is made from. */
export interface Needs {
  /**
   * `rollouts`: sampled from the policy and rewarded; else rows of the dataset: `examples` with their answers,
   * `pairs` with a better and a worse one, `rated` with one that is good or bad.
   */
  data: 'rollouts' | 'examples' | 'pairs' | 'rated';
  roles: Role[];
  /** Rollouts of one prompt; 1 for examples. */
  groupSize: number;
  /** Prompts or examples in a step. */
  prompts: number;
  /** Optimiser updates that one step's rows are split into. */
  minibatches: number;
  /** Times each row is used before new ones are made. */
  passes: number;
  /** Rollouts are drawn, and the trainer's logits divided, at this temperature; absent: 1. */
  temperature?: number;
  /** Rollouts end after this many tokens. */
  maxNewTokens?: number;
  /** More rounds of prompts that may be sampled while groups without contrast leave a step short; absent: none. */
  resample?: number;
  /** `advantages` reads the reference's log-probabilities. */
  judgesReference?: boolean;
  /** Examples with more tokens are left out and counted. */
  maxTokens?: number;
  /** Examples: the `loss` mask has answers only, or every token. */
  completionOnly?: boolean;
  /** The policy's adapter has a scalar head and is trained by its score: what comes out is a reward model. */
  scalarHead?: boolean;
  /** Where `roles` has a critic: its optimiser's rate, and the first steps in which it alone learns. */
  critic?: { learningRate: number; warmupSteps: number };
  /** Examples: the share of a step's rows whose answers the policy samples itself; absent: none. */
  onPolicy?: number;
  /** Rows are packed on lines of `maxTokens`. */
  packs?: boolean;
  /** NEFTune's alpha: noise on the embeddings while learning. */
  embeddingNoise?: number;
}

/** Rewarded rollouts, parallel arrays. */
export interface Rollouts {
  /** null where there is none: the reward abstained, failed or was not finite. */
  reward: (number | null)[];
  /** Any number that rollouts of one prompt share. */
  group: number[];
  /** Ended by the length limit, not by a stop token. */
  truncated: boolean[];
  /** Tokens of the answer, the stop token included. */
  length: number[];
  /** By token of the answer, under the distribution it was drawn from. */
  samplerLogp: Float32Array[];
  /** By token of the answer, of the reference; where `judgesReference` asks for it. */
  refLogp?: Float32Array[];
  /** By token of the answer, of the critic before the step; where `roles` has one. */
  value?: Float32Array[];
}

/**
 * `train`: forward and backward. `skip`: cannot change weights, so its forward may be left out (`skip` of the
 * engine's StepRequest), but it stays in every denominator. `drop`: as if it had not been sampled.
 */
export type Use = 'train' | 'skip' | 'drop';

export interface Judgement {
  /** One a rollout, or one a token of its answer; 0 where it has none. */
  advantage: (number | Float32Array)[];
  use: Use[];
  /** Whether the rollout's tokens are in the `loss` mask. */
  learns: boolean[];
  /** By token of the answer: what the critic learns; where `roles` has one. */
  returns?: Float32Array[];
  /** By metric key. */
  metrics: Record<string, number>;
}

/**
 * Inputs of a loss program that a trainer can make without knowing the algorithm. Any subset may be asked for.
 * T: one a target token, S: one a rollout or example of the request.
 *
 *   loss             T mask  tokens to learn from: completions (of rollouts that learn) or the example's answers
 *   samplerLogp      T       the sampler's log-probability, under the temperature it drew with; 0 outside `loss`
 *   refLogp          T       of the reference, at the trainer's temperature
 *   oldLogp          T       of the policy before the step's first update, at the trainer's temperature
 *   advantage        S       of the rollout
 *   tokenAdvantage   T       of the token, where advantages are by token; 0 outside the answer
 *   oldValue         T       of the critic before the step's first update; 0 outside the answer
 *   returns          T       what the critic learns; 0 outside the answer
 *   chosen           S mask  the better answer of its pair; trajectories 2k and 2k + 1 are better and worse
 *   chosenTokens     T mask  every target of the better answer's row, its prompt's included
 *   label            S mask  the answer is rated good
 *   mismatchedLogRatio S     log policy - log reference of the answer put to another row's prompt, policy as it is
 *                            before the update
 *   meanStepTokens   scalar  tokens of `loss` in all rollouts of the step (skipped ones included, dropped ones
 *                            not), divided by the number of its updates
 */
export const TRAINER_INPUTS = [
  'loss',
  'samplerLogp',
  'refLogp',
  'oldLogp',
  'advantage',
  'tokenAdvantage',
  'oldValue',
  'returns',
  'chosen',
  'chosenTokens',
  'label',
  'mismatchedLogRatio',
  'meanStepTokens',
] as const;

export interface MetricInfo {
  /** `area/name` */
  key: string;
  label: string;
  /** Shown after the number: '%' (value 0..1), 'nats', 'tokens', 'tokens/s', 's', 'bytes'; '' for none. */
  unit: string;
  /** Plain words: what it tells and what is usual. */
  help: string;
  /** Which direction is good; null where neither is. */
  better: 'up' | 'down' | null;
}

export interface Algorithm<Params extends z.ZodObject = z.ZodObject> {
  key: string;
  label: string;
  /** One sentence for someone who has not met it. */
  help: string;
  /** Defaults, ranges and, in each field's meta (fields.ts), label, help and level. */
  params: Params;
  needs(params: z.output<Params>): Needs;
  /** Steps of a run on a dataset of so many usable rows. */
  steps(params: z.output<Params>, rows: number): number;
  /** Absent for algorithms on examples. Plain numbers in, plain numbers out. */
  advantages?(rollouts: Rollouts, params: z.output<Params>): Judgement;
  /** The program of each trained role. */
  losses(params: z.output<Params>): { policy: LossProgram; critic?: LossProgram };
  /** What its programs and advantages report. */
  metrics: MetricInfo[];
  /** Key of the metric that a list of runs shows. */
  headline: string;
}
