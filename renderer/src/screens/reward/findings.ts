import type { ScoredSample } from '../../data/reward-test';

export interface Statistics {
  rewards: number[];
  mean: number | null;
  std: number | null;
  /** Share of groups whose rewards are all the same. */
  flatShare: number | null;
  milliseconds: number | null;
}

export function groupsOf(samples: readonly ScoredSample[]): ScoredSample[][] {
  const groups = new Map<number, ScoredSample[]>();
  for (const sample of samples) {
    const list = groups.get(sample.group);
    if (list === undefined) groups.set(sample.group, [sample]);
    else list.push(sample);
  }
  return [...groups.values()];
}

const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;

export function statistics(samples: readonly ScoredSample[]): Statistics {
  const rewards = samples.flatMap((sample) => (sample.reward === null ? [] : [sample.reward]));
  const groups = groupsOf(samples).map((group) =>
    group.flatMap((sample) => (sample.reward === null ? [] : [sample.reward])),
  );
  const comparable = groups.filter((group) => group.length > 1);
  const average = rewards.length === 0 ? null : mean(rewards);
  return {
    rewards,
    mean: average,
    std: average === null ? null : Math.sqrt(mean(rewards.map((reward) => (reward - average) ** 2))),
    flatShare:
      comparable.length === 0
        ? null
        : comparable.filter((group) => group.every((reward) => reward === group[0])).length /
          comparable.length,
    milliseconds: samples.length === 0 ? null : mean(samples.map((sample) => sample.milliseconds)),
  };
}

export interface Finding {
  level: 'warning' | 'error';
  title: string;
  text: string;
}

/** What would spoil a run with this reward, in plain words. */
export function findings(samples: readonly ScoredSample[]): Finding[] {
  const found: Finding[] = [];
  const failed = samples.filter((sample) => sample.status !== 'ok' && sample.status !== 'abstain');
  if (failed.length > 0) {
    found.push({
      level: 'error',
      title: `${failed.length} of ${samples.length} answers got no reward`,
      text: 'The code failed on them; the reason stands beside each. They would be left out of training, never counted as 0.',
    });
  }
  const { rewards, flatShare } = statistics(samples);
  if (rewards.length > 3 && rewards.every((reward) => reward === rewards[0])) {
    found.push({
      level: 'warning',
      title: `Every answer got ${rewards[0]}`,
      text: 'With nothing to tell answers apart, nothing can be learnt. Grade parts of a good answer, or take easier rows.',
    });
  } else if (flatShare !== null && flatShare > 0.7) {
    found.push({
      level: 'warning',
      title: 'Most groups have no contrast',
      text: 'Answers to the same prompt mostly got the same reward. More answers each, or a finer grade, give it more to learn from.',
    });
  }
  const lengthwise = correlation(
    samples.flatMap((sample) =>
      sample.reward === null ? [] : [[sample.completion.length, sample.reward] as const],
    ),
  );
  if (lengthwise !== null && Math.abs(lengthwise) > 0.9 && rewards.length >= 8) {
    found.push({
      level: 'warning',
      title: `The reward follows the length of the answer (r = ${lengthwise.toFixed(2)})`,
      text: `The policy would learn to write ${lengthwise > 0 ? 'longer' : 'shorter'}, whatever it says.`,
    });
  }
  return found;
}

function correlation(pairs: readonly (readonly [number, number])[]): number | null {
  if (pairs.length < 3) return null;
  const mx = mean(pairs.map(([x]) => x));
  const my = mean(pairs.map(([, y]) => y));
  let xy = 0;
  let xx = 0;
  let yy = 0;
  for (const [x, y] of pairs) {
    xy += (x - mx) * (y - my);
    xx += (x - mx) ** 2;
    yy += (y - my) ** 2;
  }
  return xx === 0 || yy === 0 ? null : xy / Math.sqrt(xx * yy);
}
