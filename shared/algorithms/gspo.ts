import { z } from 'zod';
import type { LossProgram } from '../program';
import { groupRelative } from './advantages/group-advantages';
import type { Algorithm, Judgement, Rollouts } from './algorithm';
import { adapterParams, optimizerParams } from './common';
import { field } from './fields';
import { GROUP_METRICS, POLICY_METRICS } from './metrics';
import {
  addEntropy,
  addNormalised,
  clipped,
  judgeGroups,
  klToReference,
  reportClip,
  reportRatio,
  rolloutNeeds,
  shapedRewards,
  terms,
} from './policy-gradient';
import {
  bufferFits,
  clipParams,
  groupsStayWhole,
  normalisationParam,
  regularisationParams,
  reuseParams,
  rolloutParams,
  scaleParam,
} from './rollout-params';

const params = z
  .strictObject({
    ...rolloutParams({ groupSize: 8, leastInGroup: 2 }),
    ...optimizerParams({ learningRate: 1e-5, schedule: 'constant', warmup: 0 }),
    ...reuseParams({ minibatches: 4 }),
    level: field(z.enum(['sequence', 'token']).default('sequence'), {
      label: 'Gradient',
      help: 'Through the ratio of the whole answer, or through each token with the value of the whole answer (GSPO-token).',
      level: 'advanced',
      section: 'Objective',
      options: { sequence: 'By answer', token: 'By token' },
    }),
    ...clipParams({ low: 3e-4, high: 4e-4 }),
    ...normalisationParam('grpo'),
    ...scaleParam(),
    ...regularisationParams(),
    ...adapterParams(),
  })
  .refine(groupsStayWhole.check, groupsStayWhole.fault)
  .refine(bufferFits.check, bufferFits.fault);
type Params = z.output<typeof params>;

/**
 * GSPO (arXiv 2507.18071): the ratio is the geometric mean of a trajectory's token ratios.
 *
 *   s = exp(mean_t (logp_t - sampler_t));   L = - sum min(s A, clip(s, 1 - low, 1 + high) A) / N   (eq. 5)
 *   token form: s_t = sg[s] pi_t / sg[pi_t]                                                      (eq. 13)
 */
export function gspoLoss(
  o: Pick<
    Params,
    'level' | 'clipLow' | 'clipHigh' | 'normalisation' | 'maxNewTokens' | 'beta' | 'entropyBonus'
  >,
): LossProgram {
  const t = terms();
  const { p, loss, logp } = t;
  const given = p.data('advantage', 'S');
  const sequence = t.logRatio.segMean(loss);
  const log =
    o.level === 'sequence'
      ? sequence.spread()
      : logp.minus(logp.stopGradient()).plus(sequence.stopGradient().spread());
  addNormalised(t, o, 'policy', clipped(log.exp(), given.spread(), o).neg());
  if (o.beta > 0) addNormalised(t, o, 'kl', klToReference(t).times(o.beta));
  addEntropy(t, o.entropyBonus);
  reportClip(t, sequence.exp(), given, o);
  reportRatio(t);
  return p.build();
}

function advantages(rollouts: Rollouts, p: Params): Judgement {
  const reward = shapedRewards(rollouts, p);
  return judgeGroups(reward, rollouts, groupRelative({ reward, group: rollouts.group }, p.scale), {
    maskTruncated: p.maskTruncated,
    alwaysForward: p.beta > 0 || p.entropyBonus > 0,
  });
}

export const gspo: Algorithm<typeof params> = {
  key: 'gspo',
  label: 'GSPO',
  help: 'GRPO whose limit on change holds for whole answers instead of single tokens: steadier with several updates per step.',
  params,
  needs: (p) => ({ ...rolloutNeeds(p), roles: p.beta > 0 ? ['policy', 'reference'] : ['policy'] }),
  steps: (p) => p.steps,
  advantages,
  losses: (p) => ({ policy: gspoLoss(p) }),
  metrics: [...POLICY_METRICS, ...GROUP_METRICS],
  headline: 'reward/mean',
};
