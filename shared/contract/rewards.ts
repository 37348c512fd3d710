import { z } from 'zod';
import { call, stream } from '../rpc/verb';
import { Done, Empty, Id } from './common';
import { Mapping } from './datasets';

export const RewardStatus = z.enum([
  'ok',
  'abstain',
  'error',
  'timeout',
  'nonfinite',
  'wrong_type',
  'killed',
]);
export type RewardStatus = z.infer<typeof RewardStatus>;

export const Reward = z.object({
  id: Id,
  name: z.string(),
  source: z.enum(['bundled', 'user']),
  language: z.literal('typescript'),
  code: z.string().max(256_000),
  /** sha-256 of the code, hex. */
  hash: z.string(),
  description: z.string().optional(),
  updatedAt: z.number(),
});
export type Reward = z.infer<typeof Reward>;

/** A mistake in the code, positions 1-based. */
export const CodeProblem = z.object({
  line: z.number().int(),
  column: z.number().int(),
  message: z.string(),
});

export const ScoredSample = z.object({
  index: z.number().int(),
  /** Line of the data row it answers. */
  line: z.number().int(),
  group: z.number().int(),
  prompt: z.string(),
  completion: z.string(),
  answer: z.string().nullable(),
  finish: z.enum(['stop', 'length', 'cancelled']),
  reward: z.number().nullable(),
  status: RewardStatus,
  /** Why it has no reward: message and, where known, the place in the code. */
  error: z.string().optional(),
  milliseconds: z.number(),
});
export type ScoredSample = z.infer<typeof ScoredSample>;

export const rewards = {
  list: call(Empty, z.array(Reward)),
  /** Makes or replaces a user's reward. A bundled one is copied under a new id. */
  save: call(
    z.object({ id: Id.optional(), name: z.string().min(1).max(120), code: z.string().max(256_000) }),
    Reward,
  ),
  remove: call(z.object({ id: Id }), Done),
  /** Syntax and contract, without running it on data. */
  check: call(z.object({ code: z.string().max(256_000) }), z.object({ problems: z.array(CodeProblem) })),
  /** Generates completions of real rows with the engine, now, and scores them. */
  test: stream(
    z.object({
      code: z.string().max(256_000),
      model: Id,
      dataset: Id,
      mapping: Mapping,
      prompts: z.number().int().min(1).max(32).default(4),
      samples: z.number().int().min(1).max(16).default(4),
      temperature: z.number().min(0).max(4).default(1),
      maxNewTokens: z.number().int().min(1).max(4096).default(128),
      seed: z.number().int().min(0).default(0),
    }),
    z.discriminatedUnion('kind', [
      z.object({
        kind: z.literal('progress'),
        phase: z.enum(['loading', 'generating', 'scoring']),
        done: z.number(),
        total: z.number(),
      }),
      z.object({ kind: z.literal('samples'), samples: z.array(ScoredSample) }),
    ]),
  ),
  /** Scores completions that exist already (those of the last test) with other code. */
  score: call(
    z.object({
      code: z.string().max(256_000),
      dataset: Id,
      mapping: Mapping,
      samples: z
        .array(z.object({ line: z.number().int(), prompt: z.string(), completion: z.string() }))
        .max(512),
    }),
    z.array(
      z.object({
        reward: z.number().nullable(),
        status: RewardStatus,
        error: z.string().optional(),
        milliseconds: z.number(),
      }),
    ),
  ),
};
