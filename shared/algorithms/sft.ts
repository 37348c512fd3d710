import { z } from 'zod';
import { ProgramBuilder, type LossProgram } from '../program';
import type { Algorithm } from './algorithm';
import { adapterParams, optimizerParams } from './common';
import { field } from './fields';
import { ENTROPY_METRIC } from './metrics';
import { addRouterLoss, ROUTER_METRIC, routerParams } from './router';

const params = z
  .strictObject({
    epochs: field(z.int().min(1).max(100).default(2), {
      label: 'Epochs',
      help: 'How often the whole dataset is gone through. 1 to 3; more learns the rows by heart.',
      level: 'simple',
      section: 'Length of training',
      step: 1,
    }),
    batchSize: field(z.int().min(1).max(4096).default(16), {
      label: 'Examples per update',
      help: 'How many examples each update is made from. 16 to 64 suit most datasets.',
      level: 'simple',
      section: 'Learning',
      step: 1,
    }),
    maxTokens: field(z.int().min(8).max(131_072).default(2048), {
      label: 'Longest example',
      help: 'Examples with more tokens than this are left out and counted.',
      level: 'simple',
      section: 'Learning',
      unit: 'tokens',
      step: 64,
    }),
    completionOnly: field(z.boolean().default(true), {
      label: 'Learn from the answers only',
      help: "Off: the prompt's tokens are learnt as well.",
      level: 'advanced',
      section: 'Objective',
    }),
    ...routerParams(),
    loss: field(z.enum(['nll', 'dft']).default('nll'), {
      label: 'Loss',
      help: 'Likelihood is plain fine-tuning. Dynamic fine-tuning weighs each token by its probability: what the model finds unlikely pulls less, so that it forgets less.',
      level: 'advanced',
      section: 'Objective',
      options: { nll: 'Likelihood', dft: 'Dynamic fine-tuning (DFT)' },
    }),
    labelSmoothing: field(z.number().min(0).max(0.5).default(0), {
      label: 'Label smoothing',
      help: 'Share of each target that is spread evenly over the whole vocabulary: keeps the model from growing too sure. 0 turns it off; 0.05 to 0.1 otherwise.',
      level: 'advanced',
      section: 'Objective',
      step: 0.01,
    }),
    packing: field(z.boolean().default(false), {
      label: 'Packing',
      help: 'Puts several short examples on one line, each seeing itself alone: less padding, so faster on a GPU where lengths differ. The result is the same.',
      level: 'advanced',
      section: 'Learning',
    }),
    embeddingNoise: field(z.number().min(0).max(100).default(0), {
      label: 'Embedding noise',
      help: 'NEFTune: random noise on the embeddings while learning, against learning by heart. 5 is usual for chat data; 0 turns it off.',
      level: 'advanced',
      section: 'Learning',
      step: 1,
    }),
    ...optimizerParams({ learningRate: 2e-4, schedule: 'linear', warmup: 0.05 }),
    ...adapterParams(),
  })
  .refine((p) => p.loss === 'nll' || p.labelSmoothing === 0, {
    path: ['labelSmoothing'],
    error: 'must be 0 for dynamic fine-tuning, which has weights of its own',
  });

/**
 * L = - sum_t w_t log p_t / tokens of the update: a mean over tokens, not over rows. w is 1, or for DFT (arXiv
 * 2508.05629, eq. 9) p_t without gradient. Label smoothing e: (1 - e) log p_t + e times the mean of log p over the
 * vocabulary, as torch's cross_entropy.
 */
export function sftLoss(
  o: { loss?: 'nll' | 'dft'; labelSmoothing?: number; routerAuxCoef?: number } = {},
): LossProgram {
  const p = new ProgramBuilder();
  const loss = p.mask('loss', 'T');
  const logp = p.engine('logp', loss);
  const nll = logp.neg();
  const smoothing = o.labelSmoothing ?? 0;
  const tokens = p.atLeastOne(loss.count());
  if (o.loss === 'dft') p.loss('dft', nll.times(logp.exp().stopGradient()), tokens);
  else p.loss('nll', smoothing > 0 ? nll.times(1 - smoothing) : nll, tokens);
  if (smoothing > 0) p.loss('uniform', p.engine('meanLogp', loss).times(-smoothing), tokens);
  addRouterLoss(p, o.routerAuxCoef ?? 0);
  p.mean('train/nll', logp.neg(), loss);
  p.mean('policy/entropy', p.engine('entropy', loss), loss);
  p.mean('train/probability', logp.exp(), loss);
  return p.build();
}

export const sft: Algorithm<typeof params> = {
  key: 'sft',
  label: 'SFT',
  help: 'Supervised fine-tuning: learns to write the answers that your examples give.',
  params,
  needs: (p) => ({
    data: 'examples',
    roles: ['policy'],
    groupSize: 1,
    prompts: p.batchSize,
    minibatches: 1,
    passes: 1,
    maxTokens: p.maxTokens,
    completionOnly: p.completionOnly,
    packs: p.packing,
    embeddingNoise: p.embeddingNoise,
  }),
  steps: (p, rows) => Math.ceil(rows / p.batchSize) * p.epochs,
  losses: (p) => ({ policy: sftLoss(p) }),
  metrics: [
    {
      key: 'train/nll',
      label: 'Loss per token',
      unit: 'nats',
      help: 'How surprised the model is by the next token of the answers, on average. It should fall and level off.',
      better: 'down',
    },
    {
      key: 'train/probability',
      label: 'Probability of the right token',
      unit: '%',
      help: 'Mean probability that the model gave to the next token of the answers.',
      better: 'up',
    },
    ENTROPY_METRIC,
    ROUTER_METRIC,
  ],
  headline: 'train/nll',
};
