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

/** `typescript` runs in the sandbox, `python` in a child process, `judge` is a prompt for a language model. */
export const RewardLanguage = z.enum(['typescript', 'python', 'judge']);
export type RewardLanguage = z.infer<typeof RewardLanguage>;

/** Of a reward's file. */
export const REWARD_ENDINGS: Record<RewardLanguage, string> = { typescript: 'ts', python: 'py', judge: 'md' };

const Code = z.string().max(256_000);

/** A setting of a reward, as its code declares it: `export const params = { words: { default: 50, min: 1 } }`. */
export const RewardParam = z.object({
  key: z.string(),
  type: z.enum(['integer', 'number', 'boolean', 'text', 'choice']),
  default: z.union([z.number(), z.boolean(), z.string()]),
  min: z.number().optional(),
  max: z.number().optional(),
  options: z.array(z.string()).optional(),
  label: z.string(),
  help: z.string(),
});
export type RewardParam = z.infer<typeof RewardParam>;

/** Values of a reward's settings by key; what is left out has its default. */
export const RewardParams = z.record(
  z.string().max(64),
  z.union([z.number(), z.boolean(), z.string().max(64_000)]),
);
export type RewardParams = z.infer<typeof RewardParams>;

export const Reward = z.object({
  id: Id,
  name: z.string(),
  source: z.enum(['bundled', 'user']),
  language: RewardLanguage,
  code: Code,
  params: z.array(RewardParam),
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

const RewardCode = z.object({ language: RewardLanguage.default('typescript'), code: Code });

/** The Python that was found, and what a trial in it showed to be out of a reward's reach. */
export const PythonState = z.object({
  /** null: there is none. */
  python: z.object({ path: z.string(), version: z.string() }).nullable(),
  /** No network, no files but its own and Python's, no other processes: proven by trying. */
  confined: z.boolean(),
  closed: z.array(z.string()),
  /** Why something is open. */
  reasons: z.array(z.string()),
});
export type PythonState = z.infer<typeof PythonState>;

const REACHES = {
  network: 'the network',
  files: 'your files',
  writing: 'changing your files',
  processes: 'other programs',
};

/** What a trial did not show to be out of reach, in words. */
export const openTo = ({ closed }: Pick<PythonState, 'closed'>): string =>
  Object.entries(REACHES)
    .flatMap(([name, words]) => (closed.includes(name) ? [] : [words]))
    .join(', ');

/** What a reward may reach. `allowed`: a person said so, of this code or this address; where it needs no saying, true. */
export const RewardAccess = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('sandbox') }),
  z.object({ kind: z.literal('python'), state: PythonState, allowed: z.boolean() }),
  z.object({
    kind: z.literal('judge'),
    /** Scheme, host and port that prompts and answers are sent to; null: the settings cannot be read. */
    address: z.string().nullable(),
    model: z.string().nullable(),
    allowed: z.boolean(),
    /** The key itself never leaves the backend. */
    hasKey: z.boolean(),
  }),
]);
export type RewardAccess = z.infer<typeof RewardAccess>;

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
    z.object({
      id: Id.optional(),
      name: z.string().min(1).max(120),
      language: RewardLanguage.default('typescript'),
      code: Code,
    }),
    Reward,
  ),
  remove: call(z.object({ id: Id }), Done),
  /** Syntax and contract, without running it on data. */
  check: call(RewardCode, z.object({ problems: z.array(CodeProblem), params: z.array(RewardParam) })),
  access: call(RewardCode, RewardAccess),
  /** A person's consent: Python that is not confined, by its code; a judge, by its address. */
  allow: call(RewardCode.extend({ allowed: z.boolean() }), Done),
  /** Key of a judge's address, kept outside of runs; null forgets it. */
  setKey: call(z.object({ address: z.string().max(500), key: z.string().max(4000).nullable() }), Done),
  /** Generates completions of real rows with the engine, now, and scores them. */
  test: stream(
    RewardCode.extend({
      params: RewardParams.default({}),
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
    RewardCode.extend({
      params: RewardParams.default({}),
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
