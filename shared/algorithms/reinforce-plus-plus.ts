import { z } from 'zod';
import type { LossProgram } from '../program';
import { centred } from './advantages/group-advantages';
import { positionsByGroup, present, std } from './advantages/stats';
import { discountedReturns, penalised, whitened } from './advantages/token-advantages';
import type { Algorithm, Judgement, Rollouts, Use } from './algorithm';
import { adapterParams, optimizerParams } from './common';
import { field } from './fields';
import { GROUP_METRICS, POLICY_METRICS } from './metrics';
import {
  addEntropy,
  clipped,
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
    ...rolloutParams({ prompts: 16, groupSize: 2, leastInGroup: 1 }),
    ...optimizerParams({ learningRate: 1e-5, schedule: 'constant', warmup: 0 }),
    ...reuseParams({ minibatches: 1 }),
    baseline: field(z.enum(['none', 'group']).default('none'), {
      label: 'Baseline',
      help: "What rewards are compared with before they are scaled over the step: nothing, or the mean of the prompt's answers.",
      level: 'advanced',
      section: 'Objective',
      options: { none: 'The whole step', group: "The prompt's other answers" },
    }),
    discount: field(z.number().min(0.5).max(1).default(1), {
      label: 'Discount',
      help: 'How much less a token counts for each token between it and the reward. 1 is usual.',
      level: 'advanced',
      section: 'Objective',
      step: 0.01,
    }),
    ...clipParams({ low: 0.2, high: 0.2 }),
    ...rewardKlParam(0),
    ...adapterParams(),
  })
  .refine(groupsStayWhole.check, groupsStayWhole.fault)
  .refine(bufferFits.check, bufferFits.fault)
  .refine((p) => p.baseline === 'none' || p.groupSize > 1, {
    path: ['groupSize'],
    error: 'must be at least 2 for a baseline by prompt',
  });
type Params = z.output<typeof params>;

/** REINFORCE++ (arXiv 2501.03262): PPO's clipped surrogate by token on advantages whitened over the step. */
export function reinforcePlusPlusLoss(o: Pick<Params, 'clipLow' | 'clipHigh'>): LossProgram {
  const t = terms();
  const { p, loss } = t;
  const advantage = p.data('tokenAdvantage', 'T', loss);
  const ratio = t.logRatio.exp();
  p.loss('policy', loss.choose(clipped(ratio, advantage, o).neg(), 0), p.atLeastOne(loss.count()));
  addEntropy(t, 0);
  reportClip(t, ratio, advantage, o);
  reportRatio(t);
  return p.build();
}

/**
 * The reward stands at the last token, less the KL estimate k1 at each; returns are discounted from the end and
 * whitened over the step's tokens. As verl 0.9.1 compute_reinforce_plus_plus_outcome_advantage.
 */
function advantages(rollouts: Rollouts, p: Params): Judgement {
  const { group, truncated, samplerLogp, refLogp, length } = rollouts;
  const shaped = shapedRewards(rollouts, p);
  const reward = p.baseline === 'group' ? centredPresent(shaped, group) : shaped;
  const learns = truncated.map((t) => !(t && p.maskTruncated));
  const use: Use[] = reward.map((r, i) => (Number.isNaN(r) ? 'drop' : learns[i] ? 'train' : 'skip'));
  const used = use.flatMap((u, i) => (u === 'drop' ? [] : [i]));
  const returns = used.map((i) => {
    const atEnd = Array.from({ length: length[i] }, (_, t) => (t === length[i] - 1 ? reward[i] : 0));
    const byToken =
      p.klInReward > 0
        ? penalised(atEnd, Array.from(samplerLogp[i]), Array.from(refLogp![i]), p.klInReward)
        : atEnd;
    return discountedReturns({ reward: byToken, mask: byToken.map(() => 1) }, p.discount);
  });
  const flat = returns.flat();
  const white =
    flat.length > 1
      ? whitened(
          flat,
          flat.map(() => 1),
        )
      : flat.map(() => 0);
  const advantage: (number | Float32Array)[] = reward.map(() => 0);
  let offset = 0;
  for (const i of used) {
    advantage[i] = Float32Array.from(white.slice(offset, offset + length[i]));
    offset += length[i];
  }
  const groups = positionsByGroup(group).map((members) => present(members.map((i) => shaped[i])));
  const live = groups.filter((r) => r.length > 1);
  return {
    advantage,
    use,
    learns,
    metrics: {
      'reward/zero_variance': live.length === 0 ? NaN : live.filter((r) => std(r) === 0).length / live.length,
      'reward/dropped_groups': groups.filter((r) => r.length === 0).length,
    },
  };
}

/** `centred` over the rewards that are there; NaN stays NaN. */
function centredPresent(reward: number[], group: number[]): number[] {
  const there = reward.flatMap((r, i) => (Number.isNaN(r) ? [] : [i]));
  const values = centred({ reward: there.map((i) => reward[i]), group: there.map((i) => group[i]) });
  const out = reward.map(() => NaN);
  there.forEach((i, k) => (out[i] = values[k]));
  return out;
}

export const reinforcePlusPlus: Algorithm<typeof params> = {
  key: 'reinforce_plus_plus',
  label: 'REINFORCE++',
  help: 'Policy gradient without a critic: each token is credited with what comes after it, scaled over the whole step.',
  params,
  needs: (p) => ({
    ...rolloutNeeds(p),
    roles: p.klInReward > 0 ? ['policy', 'reference'] : ['policy'],
    judgesReference: p.klInReward > 0,
  }),
  steps: (p) => p.steps,
  advantages,
  losses: (p) => ({ policy: reinforcePlusPlusLoss(p) }),
  metrics: [...POLICY_METRICS, ...GROUP_METRICS],
  headline: 'reward/mean',
};
