import { z } from 'zod';
import { call, stream } from '../rpc/verb';
import { AlgorithmInfo } from './algorithms';
import { Done, Empty, Id, Page, Problem } from './common';
import { RewardLanguage, RewardParams, RewardStatus } from './rewards';
import { RunConfig } from './run-config';
import { Timeline } from './timeline';

export * from './run-config';

export const RunStatus = z.enum([
  'queued',
  'preparing',
  'running',
  'paused',
  'stopping',
  'completed', // all steps done, finite, adapter saved and read back
  'stopped', // ended early by the user, with what was learnt saved
  'failed',
  'interrupted', // the process died; resumes from its last checkpoint
  'corrupt', // its folder cannot be read; `message` says why
]);
export type RunStatus = z.infer<typeof RunStatus>;

export const RunPhase = z.enum([
  'preparing',
  'evaluate',
  'rollout',
  'reward',
  'train',
  'checkpoint',
  'finishing',
]);
export type RunPhase = z.infer<typeof RunPhase>;

/** Metric values by key `area/name`; NaN is kept. */
export const Metrics = z.record(z.string(), z.union([z.number(), z.nan()]));
export type Metrics = z.infer<typeof Metrics>;

const seq = z.number().int();
const at = z.number(); // milliseconds since 1970

export const StepRow = z.object({
  kind: z.literal('step'),
  seq,
  at,
  step: z.number().int(),
  metrics: Metrics,
});
export const StateRow = z.object({
  kind: z.literal('state'),
  seq,
  at,
  status: RunStatus,
  message: z.string().optional(),
});
export const EventRow = z.object({
  kind: z.literal('event'),
  seq,
  at,
  step: z.number().int(),
  level: z.enum(['info', 'warning', 'error']),
  /** Stable name: 'reward_failing', 'zero_variance', 'truncated' ... */
  code: z.string(),
  message: z.string(),
  hint: z.string().optional(),
});
export const EvaluationRow = z.object({
  kind: z.literal('evaluation'),
  seq,
  at,
  step: z.number().int(),
  /** held_out/sampled, held_out/greedy ... */
  metrics: Metrics,
});
export const CheckpointRow = z.object({
  kind: z.literal('checkpoint'),
  seq,
  at,
  step: z.number().int(),
  bytes: z.number(),
});
/** Where a step's time went; comes a little after the step, once that has ended as a whole. */
export const TimelineRow = Timeline.extend({ kind: z.literal('timeline'), seq, at });
export const StoredRow = z.discriminatedUnion('kind', [
  StepRow,
  StateRow,
  EventRow,
  EvaluationRow,
  CheckpointRow,
  TimelineRow,
]);
export type StoredRow = z.infer<typeof StoredRow>;

/** Not stored: where the running step is. At most 10 a second. */
export const Progress = z.object({
  kind: z.literal('progress'),
  phase: RunPhase,
  step: z.number().int(),
  steps: z.number().int(),
  done: z.number(),
  total: z.number(),
  tokensPerSecond: z.number().nullable(),
  etaSeconds: z.number().nullable(),
});
export type Progress = z.infer<typeof Progress>;

/** Sent once, when everything stored so far has been replayed. */
export const Live = z.object({ kind: z.literal('live') });
export const FollowItem = z.discriminatedUnion('kind', [
  StepRow,
  StateRow,
  EventRow,
  EvaluationRow,
  CheckpointRow,
  TimelineRow,
  Progress,
  Live,
]);
export type FollowItem = z.infer<typeof FollowItem>;

export const RunSummary = z.object({
  id: Id,
  name: z.string(),
  algorithm: z.string(),
  model: Id,
  modelName: z.string(),
  dataset: Id,
  status: RunStatus,
  message: z.string().optional(),
  step: z.number().int(),
  steps: z.number().int(),
  /** It makes a reward model, which scores texts and does not write them. */
  scalarHead: z.boolean(),
  /** Last value of the algorithm's headline metric, and up to 60 points of it for a sparkline. */
  headline: z.object({ key: z.string(), value: z.number().nullable(), points: z.array(z.number()) }),
  heldOut: z.object({ before: z.number().nullable(), after: z.number().nullable() }),
  createdAt: z.number(),
  endedAt: z.number().nullable(),
  bytes: z.number(),
  /** Place in the queue, 1 is next; null when not queued. */
  queue: z.number().int().nullable(),
});
export type RunSummary = z.infer<typeof RunSummary>;

/** A reward as it was when its run began. */
export const FrozenReward = z.object({
  /** Of its part: `reward/<name>`. */
  name: Id,
  language: RewardLanguage,
  code: z.string(),
  weight: z.number(),
  params: RewardParams,
});
export type FrozenReward = z.infer<typeof FrozenReward>;

export const Run = RunSummary.extend({
  config: RunConfig,
  rewards: z.array(FrozenReward),
  /** Of an algorithm of one's own; null: one of the app. */
  own: AlgorithmInfo.nullable(),
  folder: z.string(),
  /** What the run was made with: versions, device, hashes of model, data, template and reward. */
  provenance: z.record(z.string(), z.string()),
  exports: z.array(
    z.object({ path: z.string(), checkpoint: z.number().int(), at: z.number(), verified: z.boolean() }),
  ),
});
export type Run = z.infer<typeof Run>;

/** What a run will take, by owner. Bytes of a device. */
export const Estimate = z.object({
  memory: z.object({
    weights: z.number(),
    adapter: z.number(),
    optimizer: z.number(),
    /** Teacher and reward model, beside the base that is trained. */
    others: z.number(),
    cache: z.number(),
    activations: z.number(),
    total: z.number(),
  }),
  /** Of one device, as `memory` is. */
  availableBytes: z.number(),
  /** GPUs that share the work, each of which takes so much memory. */
  devices: z.number().int(),
  secondsPerStep: z.number(),
  totalSeconds: z.number(),
  diskBytes: z.number(),
  /** Rollouts in all, null for algorithms without. */
  rollouts: z.number().nullable(),
  problems: z.array(Problem),
});
export type Estimate = z.infer<typeof Estimate>;

/** How a run is divided so that it fits into memory: changes time, and not what is learnt. */
export const Fit = z.object({
  microTokens: z.number().int(),
  recompute: z.boolean(),
  /** null: the algorithm does not pack rows. */
  packing: z.boolean().nullable(),
});
export type Fit = z.infer<typeof Fit>;

/** A configuration divided so. */
export const withFit = <Config extends { params: Record<string, unknown> }>(
  config: Config,
  { microTokens, recompute, packing }: Fit,
): Config & { microTokens: number } => ({
  ...config,
  microTokens,
  params: { ...config.params, recompute, ...(packing === null ? {} : { packing }) },
});

export const ChosenFit = z.object({
  fit: Fit,
  /** What was chosen and why, a sentence each. */
  reasons: z.array(z.string()),
  /** Bytes without which the run cannot go on, and those that the engine may use. */
  leastBytes: z.number(),
  availableBytes: z.number(),
});
export type ChosenFit = z.infer<typeof ChosenFit>;

/** A way to divide a run, tried with the engine by one of its updates. */
export const TriedFit = z.object({
  fit: Fit,
  estimatedBytes: z.number(),
  /** null where it was not tried: it would not fit. */
  measured: z.object({ peakBytes: z.number(), secondsPerToken: z.number() }).nullable(),
});
export type TriedFit = z.infer<typeof TriedFit>;

export const TuneItem = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('chosen'), chosen: ChosenFit }),
  z.object({ kind: z.literal('tried'), tried: TriedFit }),
  /** The fastest of those that fit. */
  z.object({ kind: z.literal('best'), best: TriedFit }),
]);
export type TuneItem = z.infer<typeof TuneItem>;

/** One reward's part of a rollout's sum. */
export const Component = z.object({
  name: z.string(),
  weight: z.number(),
  /** Before its weight; null unless the status is `ok`. */
  reward: z.number().nullable(),
  status: RewardStatus,
  error: z.string().optional(),
});
export type Component = z.infer<typeof Component>;

export const RolloutSort = z.enum(['order', 'reward', 'length', 'advantage']);
export const Rollout = z.object({
  /** Number within the run, unique. */
  id: z.number().int(),
  step: z.number().int(),
  group: z.number().int(),
  index: z.number().int(),
  line: z.number().int(),
  prompt: z.string(),
  completion: z.string(),
  answer: z.string().nullable(),
  reward: z.number().nullable(),
  status: RewardStatus,
  error: z.string().optional(),
  /** What the reward is the sum of; empty where there is one reward, of weight 1. */
  components: z.array(Component),
  advantage: z.number().nullable(),
  length: z.number().int(),
  finish: z.enum(['stop', 'length', 'cancelled']),
  meanLogp: z.number(),
});
export type Rollout = z.infer<typeof Rollout>;

/** One rollout token by token. */
export const RolloutTokens = z.object({
  ids: z.instanceof(Int32Array),
  pieces: z.array(z.string()),
  logp: z.instanceof(Float32Array),
});
export type RolloutTokens = z.infer<typeof RolloutTokens>;

/** What an export is: an adapter beside its base, or one model with the adapter merged into it. */
export const ExportForm = z.discriminatedUnion('kind', [
  /** A PEFT folder. */
  z.object({ kind: z.literal('adapter') }),
  /** A folder that transformers loads. */
  z.object({ kind: z.literal('merged'), dtype: z.enum(['f32', 'bf16', 'f16']).default('f32') }),
  /** A file for llama.cpp. */
  z.object({ kind: z.literal('gguf'), type: z.enum(['f16', 'q8_0', 'f32']).default('f16') }),
  /** A folder for mlx-lm: quantised, or bf16. */
  z.object({
    kind: z.literal('mlx'),
    bits: z
      .union([z.literal(4), z.literal(8)])
      .nullable()
      .default(4),
  }),
]);
export type ExportForm = z.infer<typeof ExportForm>;
export type ExportKind = ExportForm['kind'];
/** In the order in which they are offered. */
export const EXPORT_KINDS = ['adapter', 'merged', 'gguf', 'mlx'] as const satisfies readonly ExportKind[];

/** Why a run's checkpoints cannot be exported in a form, and what to do instead. */
export const ExportRefusal = z.object({ message: z.string(), hint: z.string().optional() });
export type ExportRefusal = z.infer<typeof ExportRefusal>;

export const ExportProgress = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('progress'),
    phase: z.enum(['writing', 'verifying']),
    done: z.number(),
    total: z.number(),
  }),
  z.object({
    kind: z.literal('done'),
    path: z.string(),
    files: z.array(z.object({ name: z.string(), bytes: z.number() })),
    /** What was compared: a reward model's scores, else logits. */
    compared: z.enum(['logits', 'scores']),
    /** Reloaded in a fresh process: largest difference of these to the live policy's, and to the base's. */
    maxDifferenceLive: z.number(),
    maxDifferenceBase: z.number(),
    /** Rounding's effect on logits: mean KL divergence from the live policy in nats, and how often the likeliest token agrees. */
    meanKl: z.number(),
    topAgreement: z.number(),
    verified: z.boolean(),
    message: z.string().optional(),
  }),
]);
export type ExportProgress = z.infer<typeof ExportProgress>;

export const runs = {
  list: call(Empty, z.array(RunSummary)),
  get: call(z.object({ id: Id }), Run),
  /** Checks without starting: problems by field, memory and time. */
  estimate: call(RunConfig, Estimate),
  /** The fastest way to divide a run that fits into memory. Refused with what is needed where none does. */
  fit: call(RunConfig, ChosenFit),
  /** Tries that way and its neighbours with the engine, and says which is the fastest. */
  tune: stream(RunConfig, TuneItem),
  start: call(RunConfig, z.object({ id: Id, queued: z.boolean() })),
  /** Stored rows with seq > after, then live ones. A finished run's stream ends. */
  follow: stream(z.object({ id: Id, after: z.number().int().min(0).default(0) }), FollowItem),
  pause: call(z.object({ id: Id }), Done),
  resume: call(z.object({ id: Id }), Done),
  /** Ends at the next safe point; what was learnt is saved as a checkpoint. */
  stop: call(z.object({ id: Id }), Done),
  remove: call(z.object({ id: Id }), Done),
  rename: call(z.object({ id: Id, name: z.string().min(1).max(120) }), Done),
  rollouts: call(
    z.object({
      id: Id,
      step: z.number().int().optional(),
      group: z.number().int().optional(),
      search: z.string().max(200).optional(),
      sort: RolloutSort.default('order'),
      descending: z.boolean().default(false),
      ...Page,
    }),
    z.object({ total: z.number().int(), rollouts: z.array(Rollout) }),
  ),
  /** Groups by step: for the heat strip and the list. */
  groups: call(
    z.object({ id: Id, step: z.number().int().optional(), ...Page }),
    z.object({
      total: z.number().int(),
      groups: z.array(
        z.object({
          step: z.number().int(),
          group: z.number().int(),
          prompt: z.string(),
          size: z.number().int(),
          rewardMean: z.number().nullable(),
          rewardMin: z.number().nullable(),
          rewardMax: z.number().nullable(),
        }),
      ),
    }),
  ),
  tokens: call(z.object({ id: Id, rollout: z.number().int() }), RolloutTokens),
  checkpoints: call(
    z.object({ id: Id }),
    z.array(
      z.object({ step: z.number().int(), bytes: z.number(), at: z.number(), reward: z.number().nullable() }),
    ),
  ),
  /** Which forms its checkpoints can take; null: it can. */
  exportForms: call(
    z.object({ id: Id }),
    z.array(z.object({ kind: z.enum(EXPORT_KINDS), refused: ExportRefusal.nullable() })),
  ),
  /** A folder; `path` under an allowed root, default: inside the run's own exports folder. */
  export: stream(
    z.object({
      id: Id,
      checkpoint: z.number().int().optional(),
      path: z.string().optional(),
      as: ExportForm.default({ kind: 'adapter' }),
    }),
    ExportProgress,
  ),
  /**
   * Writes the timelines of all steps as one JSON file of trace events, which chrome://tracing and Perfetto open. `path`
   * under an allowed root; default: inside the run's own exports folder.
   */
  trace: call(
    z.object({ id: Id, path: z.string().optional() }),
    z.object({ path: z.string(), bytes: z.number(), steps: z.number().int() }),
  ),
  /** The configuration as the YAML that `atelier run` takes. */
  yaml: call(RunConfig, z.object({ yaml: z.string() })),
};
