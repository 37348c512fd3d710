/**
 * An algorithm that the app does not have, as a person would write it in the app: OPO (arXiv 2505.23585), exactly
 * on-policy, with the baseline of a group weighted by length.
 */
export const OWN = `
import { z } from 'zod';
import type { Algorithm, Judgement, Rollouts } from './algorithm';
import { lengthWeighted } from './advantages/group-advantages';
import { adapterParams, optimizerParams } from './common';
import { GROUP_METRICS, POLICY_METRICS } from './metrics';
import { addEntropy, judgeGroups, reportRatio, rolloutNeeds, shapedRewards, terms } from './policy-gradient';
import { reuseParams, rolloutParams } from './rollout-params';

const params = z.strictObject({
  ...rolloutParams({ groupSize: 8, leastInGroup: 2 }),
  ...optimizerParams({ learningRate: 1e-5, schedule: 'constant', warmup: 0 }),
  ...reuseParams({ minibatches: 1 }),
  ...adapterParams(),
});
type Params = z.output<typeof params>;

function advantages(rollouts: Rollouts, p: Params): Judgement {
  const reward = shapedRewards(rollouts, p);
  const advantage = lengthWeighted({ reward, group: rollouts.group }, rollouts.length);
  return judgeGroups(reward, rollouts, advantage, { maskTruncated: p.maskTruncated, alwaysForward: false });
}

function losses() {
  const t = terms();
  const { p, loss, logp } = t;
  const advantage = p.data('advantage', 'S').spread();
  p.loss('policy', loss.choose(logp.times(advantage).neg(), 0), p.atLeastOne(loss.count()));
  addEntropy(t, 0);
  reportRatio(t);
  return { policy: p.build() };
}

export const opo: Algorithm<typeof params> = {
  key: 'opo',
  label: 'OPO',
  help: 'Policy gradient with a baseline weighted by length.',
  params,
  needs: (p) => ({ ...rolloutNeeds(p), roles: ['policy'] }),
  steps: (p) => p.steps,
  advantages,
  losses,
  metrics: [...POLICY_METRICS.filter(({ key }) => !key.startsWith('policy/clip_')), ...GROUP_METRICS],
  headline: 'reward/mean',
};
`;
