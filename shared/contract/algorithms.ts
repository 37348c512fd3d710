import { z } from 'zod';
import { call } from '../rpc/verb';
import { Done, Empty, Id } from './common';
import { CodeProblem } from './rewards';

const Code = z.string().max(256_000);

/** A setting, as shared/algorithms/fields.ts makes it of a schema. */
export const AlgorithmField = z.object({
  key: z.string(),
  type: z.enum(['integer', 'number', 'boolean', 'text', 'choice']),
  default: z.unknown(),
  label: z.string(),
  help: z.string(),
  level: z.enum(['simple', 'advanced']),
  section: z.enum(['Length of training', 'Rollouts', 'Learning', 'Objective', 'Trained weights']),
  step: z.number().optional(),
  unit: z.string().optional(),
  logarithmic: z.boolean().optional(),
  min: z.number().optional(),
  max: z.number().optional(),
  options: z.array(z.object({ value: z.string(), label: z.string() })).optional(),
  when: z
    .union([
      z.object({ key: z.string(), is: z.union([z.string(), z.array(z.string())]) }),
      z.object({ key: z.string(), above: z.number() }),
    ])
    .optional(),
});

export const AlgorithmMetric = z.object({
  key: z.string().regex(/^[\w-]+\/[\w-]+$/, 'must be area/name'),
  label: z.string(),
  unit: z.string(),
  help: z.string(),
  better: z.enum(['up', 'down']).nullable(),
});

/** What a form, a list and a chart have to know of an algorithm. */
export const AlgorithmInfo = z.object({
  /** What a configuration calls it. */
  key: Id,
  label: z.string().min(1).max(60),
  help: z.string().max(500),
  source: z.enum(['built-in', 'user']),
  data: z.enum(['rollouts', 'examples', 'pairs', 'rated']),
  /** Whether it learns from rewards. */
  rewarded: z.boolean(),
  /** Whether it learns from a teacher. */
  taught: z.boolean().optional(),
  /** Whether what it trains scores texts and does not write them: a reward model. */
  scalarHead: z.boolean().optional(),
  fields: z.array(AlgorithmField),
  metrics: z.array(AlgorithmMetric),
  headline: z.string(),
});
export type AlgorithmInfo = z.infer<typeof AlgorithmInfo>;

/** One batch of random numbers, evaluated as the trainer would. */
export const AlgorithmTrial = z.object({
  loss: z.number(),
  gradientNorm: z.number(),
  /** Largest difference between the gradient of a batch and that of its halves; null where it has no halves. */
  splitDifference: z.number().nullable(),
});

export const OwnAlgorithm = z.object({
  key: Id,
  name: z.string(),
  code: Code,
  /** sha-256 of the code, hex. */
  hash: z.string(),
  updatedAt: z.number(),
  problems: z.array(CodeProblem),
  /** null while its code has mistakes. */
  info: AlgorithmInfo.nullable(),
});
export type OwnAlgorithm = z.infer<typeof OwnAlgorithm>;

export const algorithms = {
  /** The user's own; those of the app are part of it. */
  list: call(Empty, z.array(OwnAlgorithm)),
  /** Source of one that the app has. */
  source: call(z.object({ key: Id }), z.object({ code: z.string() })),
  save: call(z.object({ key: Id.optional(), name: z.string().min(1).max(60), code: Code }), OwnAlgorithm),
  remove: call(z.object({ key: Id }), Done),
  /** Types, then a trial on one batch. `types`: whether types could be checked, which takes the app's sources. */
  check: call(
    z.object({ code: Code }),
    z.object({
      problems: z.array(CodeProblem),
      types: z.boolean(),
      info: AlgorithmInfo.nullable(),
      trial: AlgorithmTrial.nullable(),
    }),
  ),
};
