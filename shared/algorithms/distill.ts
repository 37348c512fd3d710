import { z } from 'zod';
import { ProgramBuilder, type LossProgram } from '../program';
import type { Algorithm } from './algorithm';
import { adapterParams, optimizerParams } from './common';
import { field } from './fields';
import { ENTROPY_METRIC } from './metrics';
import { ratedParams, ratedSteps } from './preference';

const params = z.strictObject({
  ...ratedParams('answers', { batchSize: 16 }),
  onPolicy: field(z.number().min(0).max(1).default(0.5), {
    label: 'Share of answers of its own',
    help: 'For this share of the rows the model answers itself and the teacher corrects it; for the others the data’s answers are taken.',
    level: 'simple',
    section: 'Rollouts',
    step: 0.1,
  }),
  maxNewTokens: field(z.int().min(1).max(32_768).default(256), {
    label: 'Longest answer',
    help: 'An answer of its own is cut off after this many tokens.',
    level: 'simple',
    section: 'Rollouts',
    unit: 'tokens',
    step: 16,
  }),
  temperature: field(z.number().min(0.05).max(4).default(1), {
    label: 'Temperature',
    help: 'How freely answers are sampled, and how soft both distributions are made before they are compared.',
    level: 'advanced',
    section: 'Rollouts',
    step: 0.05,
  }),
  ...optimizerParams({ learningRate: 1e-4, schedule: 'linear', warmup: 0.05 }),
  divergence: field(z.enum(['full', 'topk', 'topk_tail']).default('full'), {
    label: 'Compared over',
    help: 'Every token of the vocabulary, or only those that the model itself finds most probable.',
    level: 'advanced',
    section: 'Objective',
    options: {
      full: 'The whole vocabulary',
      topk: 'The most probable tokens',
      topk_tail: 'The most probable tokens, and the rest as one',
    },
  }),
  topK: field(z.int().min(1).max(4096).default(64), {
    label: 'Most probable tokens',
    help: 'How many of them are compared, where not all are.',
    when: { key: 'divergence', is: ['topk', 'topk_tail'] },
    level: 'advanced',
    section: 'Objective',
    step: 1,
  }),
  beta: field(z.number().min(0).max(1).default(0.5), {
    label: 'Side of the divergence',
    help: '0 spreads over all that the teacher would say, 1 keeps to what it says most; between them is a mixture of both.',
    level: 'advanced',
    section: 'Objective',
    step: 0.05,
  }),
  ...adapterParams(),
});
type Params = z.output<typeof params>;

/**
 * Generalised knowledge distillation (GKD, arXiv 2306.13649): the divergence of the model's distribution from the
 * teacher's at each token of the answer, a mean over tokens; on the model's top k as trl 1.16.0's sdft.
 */
export function distillLoss(o: Pick<Params, 'divergence' | 'topK' | 'beta' | 'temperature'>): LossProgram {
  const p = new ProgramBuilder();
  const loss = p.mask('loss', 'T');
  const { beta, temperature } = o;
  const divergence =
    o.divergence === 'full'
      ? p.engine('jsd', loss, { beta, temperature })
      : p.engine('topkDivergence', loss, {
          k: o.topK,
          tail: o.divergence === 'topk_tail' ? 1 : 0,
          alpha: beta,
          temperature,
        });
  p.loss('divergence', divergence, p.atLeastOne(loss.count()));
  p.mean('distill/divergence', divergence, loss);
  p.mean('policy/entropy', p.engine('entropy', loss), loss);
  return p.build();
}

export const distill: Algorithm<typeof params> = {
  key: 'distill',
  label: 'Distillation',
  help: 'Learns from a teacher model, token by token: how it would go on with the model’s own answers, or with those of the data.',
  params,
  needs: (p) => ({
    data: 'examples',
    roles: ['policy', 'teacher'],
    groupSize: 1,
    prompts: p.batchSize,
    minibatches: 1,
    passes: 1,
    temperature: p.temperature,
    maxNewTokens: p.maxNewTokens,
    maxTokens: p.maxTokens,
    completionOnly: true,
    onPolicy: p.onPolicy,
  }),
  steps: ratedSteps,
  losses: (p) => ({ policy: distillLoss(p) }),
  metrics: [
    {
      key: 'distill/divergence',
      label: 'Divergence from the teacher',
      unit: 'nats',
      help: 'How differently the model and its teacher would go on, on average over tokens. Should fall.',
      better: 'down',
    },
    {
      key: 'distill/own_answers',
      label: 'Answers of its own',
      unit: '%',
      help: 'Rows of the step that the model answered itself.',
      better: null,
    },
    ENTROPY_METRIC,
  ],
  headline: 'distill/divergence',
};
