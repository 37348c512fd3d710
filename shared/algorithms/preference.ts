import { z } from 'zod';
import type { Mask, Num, ProgramBuilder } from '../program';
import type { MetricInfo, Needs } from './algorithm';
import { field } from './fields';

/** Params of every algorithm that learns from rated answers in a dataset. */
export const ratedParams = (rows: 'pairs' | 'answers', defaults: { batchSize: number }) => ({
  epochs: field(z.int().min(1).max(100).default(1), {
    label: 'Epochs',
    help: 'How often the whole dataset is gone through. One is usual; more learns the rows by heart.',
    level: 'simple',
    section: 'Length of training',
    step: 1,
  }),
  batchSize: field(
    z
      .int()
      .min(rows === 'answers' ? 2 : 1)
      .max(4096)
      .default(defaults.batchSize),
    {
      label: rows === 'pairs' ? 'Pairs per update' : 'Answers per update',
      help: `How many ${rows} each update is made from. 16 to 64 suit most datasets.`,
      level: 'simple',
      section: 'Learning',
      step: 1,
    },
  ),
  maxTokens: field(z.int().min(8).max(131_072).default(1024), {
    label: 'Longest example',
    help: 'Rows with an answer that has more tokens than this, its prompt included, are left out and counted.',
    level: 'simple',
    section: 'Learning',
    unit: 'tokens',
    step: 64,
  }),
});

export const betaParam = (otherwise: number, help: string) => ({
  beta: field(z.number().min(0.001).max(100).default(otherwise), {
    label: 'Beta',
    help,
    level: 'simple',
    section: 'Objective',
    step: 0.01,
  }),
});

/** `losses`: those that smooth. */
export const labelSmoothingParam = (losses: string[]) => ({
  labelSmoothing: field(z.number().min(0).max(0.49).default(0), {
    label: 'Label smoothing',
    help: 'The share of pairs that you think are the wrong way round.',
    when: { key: 'loss', is: losses },
    level: 'advanced',
    section: 'Objective',
    step: 0.01,
  }),
});

export const ratedNeeds = (
  data: 'pairs' | 'rated',
  p: { batchSize: number; maxTokens: number },
): Omit<Needs, 'roles'> => ({
  data,
  groupSize: 1,
  prompts: p.batchSize,
  minibatches: 1,
  passes: 1,
  maxTokens: p.maxTokens,
});

export const ratedSteps = (p: { batchSize: number; epochs: number }, rows: number): number =>
  Math.ceil(rows / p.batchSize) * p.epochs;

/** -log sigmoid(x) with a share `eps` of the labels turned round. */
export const smoothed = (x: Num, eps: number): Num =>
  x
    .logSigmoid()
    .times(-(1 - eps))
    .minus(x.neg().logSigmoid().times(eps));

/** Reports what the two answers of a pair are worth to the policy; [S/2]. */
export function reportPair(p: ProgramBuilder, chosen: Num, rejected: Num): void {
  p.mean('preference/chosen', chosen);
  p.mean('preference/rejected', rejected);
  p.mean('preference/accuracy', chosen.gt(rejected).number());
  p.mean('preference/margin', chosen.minus(rejected));
}

/** -log p of the tokens in a mask, 0 elsewhere. */
export const nll = (p: ProgramBuilder, mask: Mask): Num => mask.choose(p.engine('logp'), 0).neg();

export const PREFERENCE_METRICS: MetricInfo[] = [
  {
    key: 'preference/accuracy',
    label: 'Pairs told apart',
    unit: '%',
    help: 'Pairs in which the policy gives the better answer the higher reward of its own. Should rise well above half.',
    better: 'up',
  },
  {
    key: 'preference/margin',
    label: 'Margin',
    unit: '',
    help: 'Mean difference between the rewards that the policy gives to the better and the worse answer. Should rise.',
    better: 'up',
  },
  {
    key: 'preference/chosen',
    label: 'Reward of the better answer',
    unit: '',
    help: 'The reward that the policy itself gives to better answers. Falling with the margin still rising is common; far below 0 the text suffers.',
    better: null,
  },
  {
    key: 'preference/rejected',
    label: 'Reward of the worse answer',
    unit: '',
    help: 'The reward that the policy itself gives to worse answers. It falls.',
    better: null,
  },
];
