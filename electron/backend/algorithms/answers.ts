import { z } from 'zod';
import { BASE_WEIGHTS, LORA_ALPHA, LORA_RANK, moduleValues, OPTIMIZERS } from '../../../shared/algorithms';
import { AlgorithmField, AlgorithmMetric } from '../../../shared/contract/algorithms';

// What an algorithm of one's own may answer: its code is not ours.

export const Description = z.object({
  key: z.string().max(64),
  label: z.string().min(1).max(60),
  help: z.string().max(500),
  headline: z.string(),
  metrics: z.array(AlgorithmMetric).max(64),
  fields: z.array(AlgorithmField).max(128),
  data: z.enum(['rollouts', 'examples', 'pairs', 'rated']),
  rewarded: z.boolean(),
  taught: z.boolean().exactOptional(),
  scalarHead: z.boolean().exactOptional(),
});

const count = z.int().min(1).max(1_000_000);

const Needs = z.strictObject({
  data: z.enum(['rollouts', 'examples', 'pairs', 'rated']),
  roles: z.array(z.enum(['policy', 'reference', 'critic', 'teacher'])),
  groupSize: count,
  prompts: count,
  minibatches: count,
  passes: count,
  temperature: z.number().positive().max(100).exactOptional(),
  maxNewTokens: count.exactOptional(),
  resample: z.int().min(0).max(1000).exactOptional(),
  judgesReference: z.boolean().exactOptional(),
  maxTokens: count.exactOptional(),
  completionOnly: z.boolean().exactOptional(),
  scalarHead: z.boolean().exactOptional(),
  critic: z.object({ learningRate: z.number().min(0).max(1), warmupSteps: z.int().min(0) }).exactOptional(),
  onPolicy: z.number().min(0).max(1).exactOptional(),
  packs: z.boolean().exactOptional(),
  embeddingNoise: z.number().min(0).max(1000).exactOptional(),
});

export const Settled = z.union([
  z.object({ issues: z.array(z.object({ path: z.array(z.string()), message: z.string() })).min(1) }),
  z.object({
    params: z.record(z.string(), z.unknown()),
    needs: Needs,
    losses: z.object({ policy: z.unknown(), critic: z.unknown().exactOptional() }),
  }),
]);

/** What the trainer itself reads of the settings. */
export const TrainerParams = z.looseObject({
  method: z.enum(['lora', 'full']),
  loraRank: z.int().min(1).max(4096),
  loraAlpha: z.number(),
  loraTargets: z.enum(['all-linear', 'attention', 'mlp']),
  // not there when algorithms were first written that name their params one by one
  loraRanks: moduleValues(LORA_RANK).optional(),
  loraAlphas: moduleValues(LORA_ALPHA).optional(),
  rsLora: z.boolean(),
  dora: z.boolean(),
  savedModules: z.enum(['none', 'head', 'embeddings', 'both']),
  baseWeights: z.enum(BASE_WEIGHTS),
  learningRate: z.number().min(0).max(10),
  fullLearningRate: z.number().min(0).max(10),
  optimizer: z.enum(OPTIMIZERS),
  recompute: z.boolean(),
  schedule: z.string(),
  lowestRate: z.number().min(0).max(1),
  warmup: z.number().min(0).max(1),
  maxGradNorm: z.number().min(0),
  weightDecay: z.number().min(0),
});

/** JSON has no NaN: a metric that is none comes as text. */
const metric = z.union([z.number(), z.enum(['NaN', 'Infinity', '-Infinity']).transform(Number)]);

/** By rollout or by token, of so many rollouts with these lengths. */
export function judgementOf(lengths: readonly number[]) {
  const of = <T extends z.ZodType>(schema: T) => z.array(schema).length(lengths.length);
  const perToken = (rows: unknown[]): boolean =>
    rows.every((row, k) => !Array.isArray(row) || row.length === lengths[k]);
  const wrong = { error: 'a row by token must have one number a token of its answer' };
  return z.object({
    advantage: of(z.union([z.number(), z.array(z.number())])).refine(perToken, wrong),
    use: of(z.enum(['train', 'skip', 'drop'])),
    learns: of(z.boolean()),
    returns: of(z.array(z.number())).refine(perToken, wrong).exactOptional(),
    metrics: z.record(z.string(), metric),
  });
}
