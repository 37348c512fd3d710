import { z } from 'zod';
import { ProgramBuilder, type LossProgram } from '../program';
import type { Algorithm } from './algorithm';
import { adapterParams, optimizerParams } from './common';
import { field } from './fields';
import { ENTROPY_METRIC } from './metrics';
import { betaParam, ratedNeeds, ratedParams, ratedSteps } from './preference';

const params = z
  .strictObject({
    ...ratedParams('answers', { batchSize: 16 }),
    ...betaParam(
      0.1,
      'How strongly the policy is held to the base model. Smaller lets it move further; 0.1 is usual.',
    ),
    ...optimizerParams({ learningRate: 1e-5, schedule: 'linear', warmup: 0.1 }),
    loss: field(z.enum(['kto', 'apo_zero_unpaired']).default('kto'), {
      label: 'Loss',
      help: 'KTO weighs answers against a baseline measured on mismatched ones; APO against none.',
      level: 'advanced',
      section: 'Objective',
      options: { kto: 'KTO', apo_zero_unpaired: 'APO, unpaired' },
    }),
    desirableWeight: field(z.number().min(0).max(100).default(1), {
      label: 'Weight of good answers',
      help: 'With more bad answers than good, raise it so that both sides weigh alike.',
      level: 'advanced',
      section: 'Objective',
      step: 0.1,
    }),
    undesirableWeight: field(z.number().min(0).max(100).default(1), {
      label: 'Weight of bad answers',
      help: 'With more good answers than bad, raise it so that both sides weigh alike.',
      level: 'advanced',
      section: 'Objective',
      step: 0.1,
    }),
    ...adapterParams(),
  })
  .refine((p) => p.desirableWeight > 0 || p.undesirableWeight > 0, {
    path: ['desirableWeight'],
    error: 'must be above 0 where the weight of bad answers is 0: nothing would be learnt',
  });
type Params = z.output<typeof params>;

/**
 * KTO (arXiv 2402.01306, eq. 8) and APO-zero unpaired, as trl 1.16.0. The KL baseline is max(0, mean of log pi - log
 * ref over answers put to another row's prompt), without gradient.
 */
export function ktoLoss(
  o: Pick<Params, 'loss' | 'beta' | 'desirableWeight' | 'undesirableWeight'>,
): LossProgram {
  const p = new ProgramBuilder();
  const loss = p.mask('loss', 'T');
  const good = p.mask('label', 'S');
  const logRatio = p
    .engine('logp', loss)
    .segSum()
    .minus(p.data('refLogp', 'T', loss).segSum());
  const isKto = o.loss === 'kto';
  const baseline = isKto
    ? p.data('mismatchedLogRatio', 'S').total().over(p.sequences()).max(0)
    : p.constant(0);
  const x = logRatio.minus(baseline).times(o.beta);
  const one = (v: typeof x) => v.sigmoid().neg().plus(1);
  const bad = isKto ? one(x.neg()) : x.sigmoid();
  p.loss('kto', good.choose(one(x).times(o.desirableWeight), bad.times(o.undesirableWeight)), p.sequences());
  const reward = logRatio.times(o.beta);
  p.value('policy/kl_baseline', baseline);
  p.mean('preference/chosen', reward, good);
  p.mean('preference/rejected', reward, good.not());
  p.mean('policy/entropy', p.engine('entropy', loss), loss);
  return p.build();
}

export const kto: Algorithm<typeof params> = {
  key: 'kto',
  label: 'KTO',
  help: 'Learns from single answers that are marked good or bad: no pairs needed.',
  params,
  needs: (p) => ({ ...ratedNeeds('rated', p), roles: ['policy', 'reference'] }),
  steps: ratedSteps,
  losses: (p) => ({ policy: ktoLoss(p) }),
  metrics: [
    {
      key: 'preference/chosen',
      label: 'Reward of good answers',
      unit: '',
      help: 'The reward that the policy itself gives to answers marked good. Should rise.',
      better: 'up',
    },
    {
      key: 'preference/rejected',
      label: 'Reward of bad answers',
      unit: '',
      help: 'The reward that the policy itself gives to answers marked bad. Should fall.',
      better: 'down',
    },
    {
      key: 'policy/kl_baseline',
      label: 'KL baseline',
      unit: 'nats',
      help: 'How far the policy has moved on answers put to the wrong prompt: what good and bad are measured from.',
      better: null,
    },
    ENTROPY_METRIC,
  ],
  headline: 'preference/chosen',
};
