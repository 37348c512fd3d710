import { mean, positionsByGroup, std } from './stats';

/** Missing rewards are NaN; their advantage is 0 and they enter no statistic. */
export interface Grouped {
  reward: readonly number[];
  group: readonly number[];
}

const orZero = (x: number) => (Number.isNaN(x) ? 0 : x);

/**
 * Group-relative advantages: (r - mean of the group) / (std + 1e-4), unbiased std. `scale` says whose std: the
 * group's, the batch's, or none. A group of equal rewards gets exactly 0.
 * DeepSeekMath §4.1; `none` is Dr. GRPO (Liu et al. 2025). As trl 1.16.0 GRPOTrainer.
 */
export function groupRelative(
  { reward, group }: Grouped,
  scale: 'group' | 'batch' | 'none',
  epsilon = 1e-4,
): number[] {
  const advantage = reward.map(() => 0);
  const batchStd = std(reward);
  for (const members of positionsByGroup(group)) {
    const r = members.map((i) => reward[i]);
    const groupStd = std(r);
    if (groupStd === 0) continue;
    const m = mean(r);
    const divisor = scale === 'none' ? 1 : (scale === 'group' ? groupStd : batchStd) + epsilon;
    members.forEach((i) => (advantage[i] = orZero((reward[i] - m) / divisor)));
  }
  return advantage;
}

/**
 * Each component is normalised in its group, the weighted sum over the batch. `components` [N][F].
 * GDPO (Liu et al. 2026) as trl 1.16.0, multi_objective_aggregation "normalize_then_sum".
 */
export function componentwise(
  components: readonly (readonly number[])[],
  weights: readonly number[],
  group: readonly number[],
  epsilon = 1e-4,
): number[] {
  const normalised = components.map((row) => row.map(() => NaN));
  for (const members of positionsByGroup(group))
    weights.forEach((_, f) => {
      const r = members.map((i) => components[i][f]);
      const [m, s] = [mean(r), std(r)];
      members.forEach((i) => (normalised[i][f] = (components[i][f] - m) / (s + epsilon)));
    });
  const total = weightedSum(normalised, weights);
  total.forEach((_, i) => {
    if (components[i].every(Number.isNaN)) total[i] = NaN;
  });
  const [m, s] = [mean(total), std(total)];
  return total.map((x) => orZero((x - m) / (s + epsilon)));
}

/** Weighted sum of a rollout's components; missing ones are left out; NaN where all are missing. */
export function weightedSum(
  components: readonly (readonly number[])[],
  weights: readonly number[],
): number[] {
  return components.map((row) =>
    row.every(Number.isNaN) ? NaN : row.reduce((s, x, f) => s + orZero(x) * weights[f], 0),
  );
}

/**
 * Reward minus the mean of the group's other rewards (RLOO, Ahmadian et al. 2024). A lone reward gets 0.
 * With `normalize`, (A - mean) / (std + 1e-4) over the batch, as trl 1.16.0 RLOOTrainer.
 */
export function leaveOneOut({ reward, group }: Grouped, normalize = false): number[] {
  let advantage = reward.map(() => NaN);
  for (const members of positionsByGroup(group)) {
    const r = members.map((i) => reward[i]).filter((x) => !Number.isNaN(x));
    const sum = r.reduce((a, b) => a + b, 0);
    if (r.length > 1) members.forEach((i) => (advantage[i] = reward[i] - (sum - reward[i]) / (r.length - 1)));
  }
  if (normalize) {
    const [m, s] = [mean(advantage), std(advantage)];
    advantage = advantage.map((a) => (a - m) / (s + 1e-4));
  }
  return advantage.map(orZero);
}

/** Reward minus the group's mean weighted by length (OPO, Hao et al. 2025); a lone reward keeps its value. */
export function lengthWeighted({ reward, group }: Grouped, length: readonly number[]): number[] {
  const advantage = [...reward];
  for (const members of positionsByGroup(group)) {
    if (members.length < 2) continue;
    const weight = members.reduce((s, i) => s + length[i], 0);
    const baseline = members.reduce((s, i) => s + length[i] * reward[i], 0) / weight;
    members.forEach((i) => (advantage[i] = reward[i] - baseline));
  }
  return advantage;
}

/** Reward minus the group's mean; a lone reward keeps its value. */
export function centred({ reward, group }: Grouped): number[] {
  const advantage = [...reward];
  for (const members of positionsByGroup(group)) {
    if (members.length < 2) continue;
    const m = mean(members.map((i) => reward[i]));
    members.forEach((i) => (advantage[i] = reward[i] - m));
  }
  return advantage;
}

/** Only the best of a group learns, by its lead over the second (pass@k training, Chen et al. 2025). */
export function bestOfGroup({ reward, group }: Grouped, epsilon = 1e-6): number[] {
  const advantage = reward.map(() => 0);
  for (const members of positionsByGroup(group)) {
    const [best, second] = [...members].sort((a, b) => reward[b] - reward[a]);
    if (second === undefined) continue;
    advantage[best] = (reward[best] - reward[second]) / (std(members.map((i) => reward[i])) + epsilon);
  }
  return advantage;
}
