import type { z } from 'zod';
import { allMetrics } from './about';
import type { Algorithm, MetricInfo, Needs } from './algorithm';
import type { adapterParams, optimizerParams } from './common';
import { distill } from './distill';
import { dpo } from './dpo';
import { grpo } from './grpo';
import { gspo } from './gspo';
import { HELD_OUT_METRICS } from './held-out';
import { kto } from './kto';
import { orpo } from './orpo';
import { ppo } from './ppo';
import { reinforcePlusPlus } from './reinforce-plus-plus';
import { rewardModel } from './reward-model';
import { rloo } from './rloo';
import { simpo } from './simpo';
import { sft } from './sft';

export type { Algorithm, Judgement, MetricInfo, Needs, Role, Rollouts, Use } from './algorithm';
export { TRAINER_INPUTS } from './algorithm';
export { aboutOf, allMetrics, type About } from './about';
export {
  ADAMW,
  BASE_BITS,
  BASE_WEIGHTS,
  OPTIMIZERS,
  learningRateOf,
  LORA_ALPHA,
  LORA_RANK,
  LORA_TARGETS,
  MUON,
  SAVED_MODULES,
  type BaseWeights,
} from './common';
export { fields, hasEffect, type Field } from './fields';
export { moduleValues, valuesByModule } from './name-pattern';

/** Every algorithm of the product, in the order in which they are offered. */
export const ALGORITHMS: readonly Algorithm[] = [
  grpo,
  gspo,
  rloo,
  reinforcePlusPlus,
  ppo,
  sft,
  distill,
  dpo,
  simpo,
  orpo,
  kto,
  rewardModel,
] as unknown as readonly Algorithm[];

/** undefined: there is none of this name. */
export const algorithmByKey = (key: string): Algorithm | undefined => ALGORITHMS.find((a) => a.key === key);

/** What a step of the algorithm is made from. */
export type DataKind = Needs['data'];

/** Of its default settings: the same for all. */
export const dataKindOf = (algorithm: Algorithm): DataKind =>
  algorithm.needs(algorithm.params.parse({})).data;

/** What a run of the algorithm measures on held-out rows; the first stands for the run. */
export const heldOutMetricsOf = (kind: DataKind): readonly [MetricInfo, ...MetricInfo[]] =>
  HELD_OUT_METRICS[kind];

/** Params that every algorithm has: what the trainer reads itself. */
export type CommonParams = z.output<
  z.ZodObject<ReturnType<typeof adapterParams> & ReturnType<typeof optimizerParams>>
>;

/** Everything a run of the algorithm reports, by key once. */
export const metricsOf = ({ advantages, metrics }: Algorithm): MetricInfo[] =>
  allMetrics({ rewarded: advantages !== undefined, metrics });
