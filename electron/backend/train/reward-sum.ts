import { createHash } from 'node:crypto';
import type { Component } from '../../../shared/contract/runs';
import type { Score, WeightedScorer } from './job';

/** One reward of weight 1: the sum is the reward itself. */
export const isPlain = (rewards: readonly Pick<WeightedScorer, 'weight'>[]): boolean =>
  rewards.length === 1 && rewards[0]!.weight === 1;

/** Identity of what a rollout is scored with. */
export function rewardHash(rewards: readonly WeightedScorer[]): string {
  if (isPlain(rewards)) return rewards[0]!.scorer.hash;
  const parts = rewards.map(({ scorer, weight }) => `${scorer.hash} ${weight}`);
  return createHash('sha256').update(parts.join('\n')).digest('hex');
}

/**
 * What the rewards make of each answer together. `scored` [rewards][samples]; `groups` [samples]: a number that answers
 * to one prompt share.
 */
export function addUp(
  rewards: readonly Pick<WeightedScorer, 'name' | 'weight'>[],
  scored: readonly Score[][],
  groups: readonly number[],
): Score[] {
  if (isPlain(rewards)) return scored[0]!;
  const components = groups.map((_, k) =>
    rewards.map(({ name, weight }, r): Component => {
      const { reward, status, error } = scored[r]![k]!;
      return { name, weight, reward, status, ...(error === undefined ? {} : { error }) };
    }),
  );
  const apply = whereApplies(components, groups);
  return components.map((parts, k) => ({
    ...total(parts, apply[k]!),
    milliseconds: scored.reduce((sum, of) => sum + of[k]!.milliseconds, 0),
    components: parts,
  }));
}

/** [samples][rewards] whether the reward has a number for any answer of the group. */
function whereApplies(components: readonly Component[][], groups: readonly number[]): boolean[][] {
  const byGroup = new Map<number, boolean[]>();
  components.forEach((parts, k) => {
    const known = byGroup.get(groups[k]!) ?? parts.map(() => false);
    byGroup.set(
      groups[k]!,
      parts.map(({ status }, r) => known[r]! || status !== 'abstain'),
    );
  });
  return groups.map((group) => byGroup.get(group)!);
}

/**
 * The weighted sum of the rewards that apply to the prompt. One that abstains for the whole group does not apply and is
 * left out of every sum. One that abstains for some of a group's answers, or fails, leaves the answer without a
 * sum: it could not be compared with the others, and 0 would be a judgement that nobody made.
 */
function total(parts: readonly Component[], applies: readonly boolean[]): Omit<Score, 'milliseconds'> {
  const counted = parts.filter((_, r) => applies[r]);
  const missing =
    counted.find(({ status }) => status !== 'ok' && status !== 'abstain') ??
    counted.find(({ status }) => status === 'abstain');
  if (missing) {
    const { name, status, error } = missing;
    const why =
      error ?? (status === 'abstain' ? 'no opinion on this answer, but on others of its group' : status);
    return { reward: null, status, error: `${name}: ${why}` };
  }
  if (counted.length === 0) return { reward: null, status: 'abstain' };
  const sum = counted.reduce((value, { weight, reward }) => value + weight * reward!, 0);
  if (Math.abs(sum) <= LARGEST) return { reward: sum, status: 'ok' };
  return { reward: null, status: 'nonfinite', error: `the weighted sum is ${sum}` };
}

/** f32's largest. */
const LARGEST = (2 - 2 ** -23) * 2 ** 127;
