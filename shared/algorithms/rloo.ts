import { z } from 'zod';
import type { LossProgram } from '../program';
import { leaveOneOut } from './advantages/group-advantages';
import type { Algorithm, Judgement, Rollouts } from './algorithm';
import { adapterParams, optimizerParams } from './common';
import { field } from './fields';
import { GROUP_METRICS, POLICY_METRICS } from './metrics';
import {
  addEntropy,
  clipped,
  judgeGroups,
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
  reuseParams,
  rewardKlParam,
  rolloutParams,
} from './rollout-params';

const params = z
  .strictObject({
    ...rolloutParams({ groupSize: 4, leastInGroup: 2 }),
    ...optimizerParams({ learningRate: 1e-5, schedule: 'constant', warmup: 0 }),
    ...reuseParams({ minibatches: 1 }),
    ...clipParams({ low: 0.2, high: 0.2 }),
    ...rewardKlParam(0.05),
    normalise: field(z.boolean().default(false), {
      label: 'Scale advantages over the step',
      help: "Advantages are shifted and scaled to mean 0 and spread 1 over the step's answers.",
      level: 'advanced',
      section: 'Objective',
    }),
    ...adapterParams(),
  })
  .refine(groupsStayWhole.check, groupsStayWhole.fault)
  .refine(bufferFits.check, bufferFits.fault);
type Params = z.output<typeof params>;

/** RLOO (arXiv 2402.14740) as trl 1.16.0: ratio of whole answers, exp(sum_t (logp_t - sampler_t)), clipped. */
export function rlooLoss(o: Pick<Params, 'clipLow' | 'clipHigh'>): LossProgram {
  const t = terms();
  const { p } = t;
  const advantage = p.data('advantage', 'S');
  const ratio = t.logRatio.segSum().exp();
  p.loss('policy', clipped(ratio, advantage, o).neg(), p.sequences());
  addEntropy(t, 0);
  reportClip(t, ratio, advantage, o);
  reportRatio(t);
  return p.build();
}

function advantages(rollouts: Rollouts, p: Params): Judgement {
  const kl = (i: number) => {
    const [old, reference] = [rollouts.samplerLogp[i], rollouts.refLogp![i]];
    return old.reduce((sum, logp, t) => sum + logp - reference[t], 0);
  };
  const shaped = shapedRewards(rollouts, p);
  const reward = p.klInReward > 0 ? shaped.map((r, i) => r - p.klInReward * kl(i)) : shaped;
  const advantage = leaveOneOut({ reward, group: rollouts.group }, p.normalise);
  // whether a group has contrast is told of its rewards: KL always differs a little
  return judgeGroups(shaped, rollouts, advantage, { maskTruncated: p.maskTruncated, alwaysForward: false });
}

export const rloo: Algorithm<typeof params> = {
  key: 'rloo',
  label: 'RLOO',
  help: "REINFORCE with a simple baseline: each answer is compared with the mean of the prompt's other answers.",
  params,
  needs: (p) => ({
    ...rolloutNeeds(p),
    roles: p.klInReward > 0 ? ['policy', 'reference'] : ['policy'],
    judgesReference: p.klInReward > 0,
  }),
  steps: (p) => p.steps,
  advantages,
  losses: (p) => ({ policy: rlooLoss(p) }),
  metrics: [...POLICY_METRICS, ...GROUP_METRICS],
  headline: 'reward/mean',
};
