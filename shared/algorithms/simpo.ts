import { z } from 'zod';
import { ProgramBuilder, type LossProgram } from '../program';
import type { Algorithm } from './algorithm';
import { adapterParams, optimizerParams } from './common';
import { field } from './fields';
import { ENTROPY_METRIC } from './metrics';
import {
  betaParam,
  labelSmoothingParam,
  PREFERENCE_METRICS,
  ratedNeeds,
  ratedParams,
  ratedSteps,
  reportPair,
  smoothed,
} from './preference';

const params = z.strictObject({
  ...ratedParams('pairs', { batchSize: 16 }),
  ...betaParam(2, 'How sharply a pair is told apart. SimPO works with 2 to 10, CPO with 0.1.'),
  ...optimizerParams({ learningRate: 1e-5, schedule: 'linear', warmup: 0.1 }),
  loss: field(z.enum(['simpo', 'sigmoid', 'hinge', 'ipo']).default('simpo'), {
    label: 'Loss',
    help: 'SimPO compares means by token with a margin; CPO compares sums.',
    level: 'advanced',
    section: 'Objective',
    options: { simpo: 'SimPO', sigmoid: 'CPO, sigmoid', hinge: 'CPO, hinge', ipo: 'CPO, squared (IPO)' },
  }),
  margin: field(z.number().min(0).max(100).default(1), {
    label: 'Margin',
    help: 'By how much the better answer should lead (SimPO only).',
    when: { key: 'loss', is: 'simpo' },
    level: 'advanced',
    section: 'Objective',
    step: 0.1,
  }),
  sftWeight: field(z.number().min(0).max(100).default(0), {
    label: 'Also learn the better answer',
    help: 'Weight of the plain loss on the better answers. CPO uses 1, SimPO 0.',
    level: 'advanced',
    section: 'Objective',
    step: 0.1,
  }),
  curvature: field(z.number().min(-10).max(10).default(0), {
    label: 'Curvature',
    help: 'Bends the reward so that likely answers count less (AlphaPO). 0 is plain SimPO and CPO.',
    level: 'advanced',
    section: 'Objective',
    step: 0.05,
  }),
  ...labelSmoothingParam(['simpo', 'sigmoid']),
  ...adapterParams(),
});
type Params = z.output<typeof params>;

/** SimPO (arXiv 2405.14734, eq. 6), CPO (arXiv 2401.08417), AlphaPO (arXiv 2501.03884), as trl 1.16.0 CPOTrainer. */
export function simpoLoss(
  o: Pick<Params, 'loss' | 'beta' | 'margin' | 'sftWeight' | 'curvature' | 'labelSmoothing'>,
): LossProgram {
  const p = new ProgramBuilder();
  const loss = p.mask('loss', 'T');
  const logp = p.engine('logp', loss);
  const policy = o.loss === 'simpo' || o.loss === 'ipo' ? logp.segMean(loss) : logp.segSum();
  const a = o.curvature;
  const score = a === 0 ? policy : policy.times(-a).exp().neg().plus(1).over(a);
  const [chosen, rejected] = [score.part(0, 2), score.part(1, 2)];
  const lead = chosen.minus(rejected);
  const value = {
    hinge: () => lead.times(o.beta).neg().plus(1).relu(),
    ipo: () => lead.minus(1 / (2 * o.beta)).square(),
    sigmoid: () => smoothed(lead.times(o.beta), o.labelSmoothing),
    simpo: () => smoothed(lead.minus(o.margin / o.beta).times(o.beta), o.labelSmoothing),
  }[o.loss]();
  p.loss('preference', value, p.sequences().over(2));
  if (o.sftWeight > 0) {
    const better = p.mask('chosen', 'S').spread().and(loss);
    p.loss('sft', better.choose(logp, 0).times(-o.sftWeight), p.atLeastOne(better.count()));
  }
  reportPair(p, chosen.times(o.beta), rejected.times(o.beta));
  p.mean('policy/entropy', p.engine('entropy', loss), loss);
  return p.build();
}

export const simpo: Algorithm<typeof params> = {
  key: 'simpo',
  label: 'SimPO / CPO',
  help: 'Learns from pairs like DPO, but compares answers by their own likelihood: no reference model, less memory.',
  params,
  needs: (p) => ({ ...ratedNeeds('pairs', p), roles: ['policy'] }),
  steps: ratedSteps,
  losses: (p) => ({ policy: simpoLoss(p) }),
  metrics: [...PREFERENCE_METRICS, ENTROPY_METRIC],
  headline: 'preference/accuracy',
};
