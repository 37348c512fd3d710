import { ProgramBuilder, type Mask, type Num } from '../program';
import { positionsByGroup, present, std } from './advantages/stats';
import type { Judgement, Needs, Rollouts, Use } from './algorithm';
import type { Normalisation } from './rollout-params';

/** What policy-gradient programs are written in. All [T], zero outside the `loss` mask. */
export interface Terms {
  p: ProgramBuilder;
  loss: Mask;
  logp: Num;
  /** logp - that of the distribution the ratio is taken to. */
  logRatio: Num;
}

export function terms(against: 'samplerLogp' | 'oldLogp' = 'samplerLogp'): Terms {
  const p = new ProgramBuilder();
  const loss = p.mask('loss', 'T');
  const logp = p.engine('logp', loss);
  return { p, loss, logp, logRatio: logp.minus(p.data(against, 'T', loss)) };
}

/** min(r A, clip(r, 1 - low, 1 + high) A), the gain of PPO's clipped surrogate (arXiv 1707.06347, eq. 7). */
export const clipped = (ratio: Num, advantage: Num, { clipLow, clipHigh }: Clip): Num =>
  ratio.times(advantage).min(ratio.clip(1 - clipLow, 1 + clipHigh).times(advantage));

export interface Clip {
  clipLow: number;
  clipHigh: number;
}

/** Adds a sum over tokens to the loss, divided as the normalisation says. */
export function addNormalised(
  { p, loss }: Terms,
  o: { normalisation: Normalisation; maxNewTokens: number },
  name: string,
  perToken: Num,
): void {
  const tokens = loss.choose(perToken, 0);
  const sequences = p.sequences();
  if (o.normalisation === 'grpo') p.loss(name, perToken.segMean(loss), sequences);
  else if (o.normalisation === 'luspo') p.loss(name, tokens, sequences);
  else if (o.normalisation === 'dr_grpo') p.loss(name, tokens, sequences.times(o.maxNewTokens));
  else if (o.normalisation === 'bnpo') p.loss(name, tokens, p.atLeastOne(loss.count()));
  else p.loss(name, tokens, p.atLeastOne(p.data('meanStepTokens', 'scalar')));
}

/**
 * Schulman's k3, unbiased and never negative: exp(ref - logp) - (ref - logp) - 1; `weighted`: times the ratio, which
 * keeps it unbiased off the sampler. Reports policy/kl.
 */
export function klToReference({ p, loss, logp, logRatio }: Terms, weighted = false): Num {
  const toReference = p.data('refLogp', 'T', loss).minus(logp);
  const k3 = toReference.exp().minus(toReference).minus(1);
  const kl = weighted ? k3.times(logRatio.exp()) : k3;
  p.mean('policy/kl', kl, loss);
  return kl;
}

/** Reports entropy, and rewards it where a bonus is asked for. */
export function addEntropy({ p, loss }: Terms, bonus: number): Num {
  const entropy = p.engine('entropy', loss);
  if (bonus > 0) p.loss('entropy', entropy.times(-bonus), p.atLeastOne(loss.count()));
  p.mean('policy/entropy', entropy, loss);
  return entropy;
}

/** Shares of what the clip holds back: `ratio` one a token or one a sequence, like its advantage. */
export function reportClip(
  { p, loss }: Terms,
  ratio: Num,
  advantage: Num,
  { clipLow, clipHigh }: Clip,
): void {
  const low = ratio
    .lt(1 - clipLow)
    .and(advantage.lt(0))
    .number();
  const high = ratio
    .gt(1 + clipHigh)
    .and(advantage.gt(0))
    .number();
  const weight = ratio.shape === 'T' ? loss : loss.length().gt(0);
  p.mean('policy/clip_low', low, weight);
  p.mean('policy/clip_high', high, weight);
}

/** How far the trained policy is from the sampler, by token. */
export function reportRatio({ p, loss, logp }: Terms): void {
  const logRatio = logp.minus(p.data('samplerLogp', 'T', loss));
  const ratio = logRatio.exp();
  p.mean('policy/ratio', ratio, loss);
  p.mean('policy/sampler_mismatch', logRatio.abs(), loss);
  p.mean('policy/off_sampler', ratio.lt(0.9).or(ratio.gt(1.1)).number(), loss);
}

/**
 * Rewards as numbers, NaN where there is none, less DAPO's soft overlong punishment (arXiv 2503.14476, eq. 13):
 * from limit - buffer tokens on, linear down to -1 at the limit; a truncated answer loses 1.
 */
export function shapedRewards(
  { reward, length, truncated }: Rollouts,
  { maxNewTokens, overlongBuffer }: { maxNewTokens: number; overlongBuffer: number },
): number[] {
  return reward.map((r, i) => {
    if (r === null || overlongBuffer === 0) return r ?? NaN;
    const over = length[i] - (maxNewTokens - overlongBuffer);
    return r - (truncated[i] ? 1 : Math.min(1, Math.max(0, over / overlongBuffer)));
  });
}

/**
 * What becomes of each rollout. A group with fewer than two rewards is dropped and counted; a rollout that cannot
 * move the weights (advantage 0 and nothing else acts, or not learnt from) is skipped.
 */
export function judgeGroups(
  reward: readonly number[],
  { group, truncated }: Pick<Rollouts, 'group' | 'truncated'>,
  advantage: number[],
  o: {
    maskTruncated: boolean;
    /** The loss has more than the advantage in it. */
    alwaysForward: boolean;
    /** What one rollout adds depends on others: none may be skipped. */
    interacts?: boolean;
  },
): Judgement {
  const learns = truncated.map((t) => !(t && o.maskTruncated));
  const use: Use[] = advantage.map((a, i) =>
    !o.interacts && (!learns[i] || (a === 0 && !o.alwaysForward)) ? 'skip' : 'train',
  );
  let live = 0;
  let equal = 0;
  let dropped = 0;
  for (const members of positionsByGroup(group)) {
    const r = present(members.map((i) => reward[i]));
    if (r.length < 2) {
      dropped++;
      members.forEach((i) => (use[i] = 'drop'));
      continue;
    }
    live++;
    if (std(r) === 0) equal++;
  }
  return {
    advantage,
    use,
    learns,
    metrics: { 'reward/zero_variance': live === 0 ? NaN : equal / live, 'reward/dropped_groups': dropped },
  };
}

/** Needs of an algorithm on groups of rollouts. */
export const rolloutNeeds = (p: {
  groupSize: number;
  prompts: number;
  minibatches: number;
  passes: number;
  temperature: number;
  maxNewTokens: number;
}): Omit<Needs, 'roles'> => ({
  data: 'rollouts',
  groupSize: p.groupSize,
  prompts: p.prompts,
  minibatches: p.minibatches,
  passes: p.passes,
  temperature: p.temperature,
  maxNewTokens: p.maxNewTokens,
});
