/** One row: an entry a token, in order; mask 1 where the policy wrote it. */
export interface TokenRow {
  reward: readonly number[];
  mask: readonly number[];
}

/**
 * Generalised advantage estimation (Schulman et al. 2016). Tokens outside the mask (tool output) are stepped over.
 * As verl 0.9.1 compute_gae_advantage_return, before whitening. Entries outside the mask carry no meaning.
 * @throws RangeError where there is not one value per reward
 */
export function generalisedAdvantages(
  { reward, mask }: TokenRow,
  value: readonly number[],
  gamma: number,
  lambda: number,
): { advantage: number[]; returns: number[] } {
  if (value.length !== reward.length || mask.length !== reward.length)
    throw new RangeError(
      `there must be one value per reward: ${value.length} values, ${reward.length} rewards, ${mask.length} in the mask`,
    );
  const advantage = reward.map(() => 0);
  let nextValue = 0;
  let next = 0;
  for (let t = reward.length - 1; t >= 0; t--) {
    if (mask[t] !== 0) {
      next = reward[t] + gamma * nextValue - value[t] + gamma * lambda * next;
      nextValue = value[t];
    }
    advantage[t] = next;
  }
  return { advantage, returns: advantage.map((a, t) => a + value[t]) };
}

/** Discounted sum of rewards from each token on; 0 outside the mask. As verl 0.9.1, REINFORCE++. */
export function discountedReturns({ reward, mask }: TokenRow, gamma: number): number[] {
  const returns = reward.map(() => 0);
  let next = 0;
  for (let t = reward.length - 1; t >= 0; t--) {
    const here = reward[t] + gamma * next;
    if (mask[t] === 0) continue;
    returns[t] = here;
    next = here;
  }
  return returns;
}

/** Estimates of the KL divergence from the reference, by token (Schulman; verl 0.9.1 kl_penalty, with its bounds). */
export type KlKind = 'k1' | 'abs' | 'k2' | 'k3';

const bounded = (x: number, bound: number) => Math.min(bound, Math.max(-bound, x));
const KL: Record<KlKind, (difference: number) => number> = {
  k1: (d) => d,
  abs: Math.abs,
  k2: (d) => (d * d) / 2,
  k3: (d) => bounded(Math.exp(bounded(-d, 20)) - bounded(-d, 20) - 1, 10),
};

/** `difference`: log p of the policy less that of the reference. */
export const klEstimate = (kind: KlKind, difference: number): number => KL[kind](difference);

/** Rewards by token with an estimate of the KL divergence taken off (PPO's KL penalty). */
export const penalised = (
  reward: readonly number[],
  oldLogp: readonly number[],
  refLogp: readonly number[],
  coefficient: number,
  kind: KlKind = 'k1',
): number[] => reward.map((r, t) => r - coefficient * klEstimate(kind, oldLogp[t] - refLogp[t]));

/**
 * (x - mean) / sqrt(variance + 1e-8) over the entries in the mask, unbiased variance; 0 elsewhere. With
 * `keepMean` the mean is added again.
 */
export function whitened(x: readonly number[], mask: readonly number[], keepMean = false): number[] {
  const chosen = x.filter((_, i) => mask[i] !== 0);
  const mean = chosen.reduce((a, b) => a + b, 0) / chosen.length;
  const variance = chosen.reduce((s, v) => s + (v - mean) ** 2, 0) / (chosen.length - 1);
  return x.map((v, i) =>
    mask[i] === 0 ? 0 : (v - mean) / Math.sqrt(variance + 1e-8) + (keepMean ? mean : 0),
  );
}

/** KL coefficient that follows a target (Ziegler et al. 2019, §2.2). */
export function adaptedKlCoefficient(
  coefficient: number,
  { kl, target, samples, horizon }: { kl: number; target: number; samples: number; horizon: number },
): number {
  const error = Math.min(0.2, Math.max(-0.2, kl / target - 1));
  return coefficient * (1 + (error * samples) / horizon);
}

/**
 * Weights that correct for the difference between the trainer's and the sampler's log-probabilities of the same
 * weights (Yao et al. 2025). A missing sampler log-probability (NaN) weighs 1. `truncate` clips the ratio, `mask`
 * sets what is outside to 0. Token modes give one weight a token (0 outside the mask), sequence modes one in all.
 */
export function samplerWeights(
  {
    logp,
    samplerLogp,
    mask,
  }: { logp: readonly number[]; samplerLogp: readonly number[]; mask: readonly number[] },
  mode: 'token_truncate' | 'token_mask' | 'sequence_truncate' | 'sequence_mask',
  low: number | null,
  high: number | null,
): number[] {
  const difference = logp.map((l, t) =>
    mask[t] === 0 || Number.isNaN(samplerLogp[t]) ? 0 : l - samplerLogp[t],
  );
  const bounded = (ratio: number) => {
    const inside = Math.min(high ?? Infinity, Math.max(low ?? 0, ratio));
    return mode.endsWith('truncate') || inside === ratio ? inside : 0;
  };
  if (mode.startsWith('sequence')) return [bounded(Math.exp(difference.reduce((a, b) => a + b, 0)))];
  return difference.map((d, t) => (mask[t] === 0 ? 0 : bounded(Math.exp(d))));
}
