import { z } from 'zod';
import { AdapterRef } from './chat';
import { Id } from './common';
import { Mapping } from './datasets';
import { RewardLanguage, RewardParams } from './rewards';

const weight = z.number().min(-1000).max(1000).default(1);
const params = RewardParams.default({});

/** One of a run's rewards: a saved one, or its code. Their sum, each times its weight, is what a run learns from. */
export const RunReward = z.union(
  [
    z.strictObject({ id: Id, weight, params }),
    z.strictObject({
      code: z.string().max(256_000),
      language: RewardLanguage.default('typescript'),
      /** What its part of the sum is called; default `reward`. */
      name: Id.optional(),
      weight,
      params,
    }),
  ],
  { error: 'must be { id: ... } of a saved reward, or { code: ... } of one; with a weight, or none for 1' },
);
export type RunReward = z.output<typeof RunReward>;

const measured = z.number().int().min(1).max(4096).default(128);

/** Another data set; or a part of the same one, never trained on. `rows`: at most so many are measured. */
export const HeldOut = z.union(
  [
    z.strictObject({ dataset: Id, rows: measured }),
    z.strictObject({
      /** Below 1 a share of the rows, from 1 on their number. */
      part: z.number().positive().max(1e9),
      /** Which rows they are. */
      seed: z.number().int().min(0).default(0),
      rows: measured,
    }),
  ],
  { error: 'must be { dataset: ..., rows: ... }, or { part: 0.1, seed: 0, rows: ... } of the same data' },
);
export type HeldOut = z.output<typeof HeldOut>;

/** A model in a role beside the policy's; with what a run has taught it where `adapter` names one. */
export const RoleModel = z.strictObject({ model: Id, adapter: AdapterRef.nullable().default(null) });
export type RoleModel = z.output<typeof RoleModel>;

/** All choices of a run. The same object is the form's value, the run folder's config.yaml and the CLI's input. */
export const RunConfig = z
  .object({
    format: z.literal(2).default(2),
    name: z.string().min(1).max(120),
    algorithm: z.string().min(1),
    /** Source of an algorithm of one's own; null: `algorithm` names one that the app has, or one that is saved. */
    algorithmCode: z.string().max(256_000).nullable().default(null),
    model: Id,
    data: z
      .object({
        dataset: Id,
        mapping: Mapping.default({}),
        /** Rows whose tokens stood in an earlier row are left out. */
        dropDuplicates: z.boolean().default(false),
        /** Held-out rows, measured before the first and after the last step; null: none. */
        heldOut: HeldOut.nullable().default(null),
      })
      .strict(),
    /** Empty where the algorithm needs none. */
    rewards: z.array(RunReward).max(16).default([]),
    /** A reward model, whose score times its weight is added to the rewards; null: none. */
    rewardModel: RoleModel.extend({ weight }).nullable().default(null),
    /** Whom the policy learns from; null where the algorithm has no teacher. */
    teacher: RoleModel.nullable().default(null),
    /** The algorithm's own settings (shared/algorithms), checked by its schema. */
    params: z.record(z.string(), z.unknown()).default({}),
    /**
     * Padded tokens that the engine forwards and differentiates at once, which changes memory and time and not what is
     * learnt; null: as many as suit a share of the engine's memory.
     */
    microTokens: z.number().int().min(16).max(262_144).nullable().default(null),
    seed: z
      .number()
      .int()
      .min(0)
      .max(2 ** 31)
      .default(0),
    /** A checkpoint each so many steps; the last step always gets one. */
    checkpointEvery: z.number().int().min(1).default(20),
  })
  .strict();
export type RunConfig = z.output<typeof RunConfig>;

/** A configuration as an older version wrote it, as this one reads it. Format 1 had one `reward`. */
export function upgradeConfig(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  const { reward, ...config } = value as { format?: unknown; reward?: unknown };
  if ((config.format ?? 1) !== 1 || 'rewards' in config) return value;
  const rewards = reward === undefined || reward === null ? [] : [reward];
  return { ...config, format: 2, rewards };
}
export type RunConfigInput = z.input<typeof RunConfig>;
