import { weightedSum } from '../../shared/algorithms/advantages/group-advantages';
import { mean, positionsByGroup, std } from '../../shared/algorithms/advantages/stats';
import { flat, type Json, type PlainCase } from './case';

export type Matrix = number[][];
export const matrix = (x: Json): Matrix => x.map((row: Json) => flat(row));
export const blocks = (n: number, size: number) => Array.from({ length: n }, (_, i) => Math.floor(i / size));
/** Only what is under the mask. */
export const within = (x: Matrix, mask: Matrix): number[] =>
  x.flatMap((row, i) => row.filter((_, t) => mask[i][t] !== 0));

export function rewardMetrics(
  components: Matrix,
  weights: number[],
  group: number[],
  scale: string | undefined,
) {
  const total = weightedSum(components, weights);
  const spread =
    scale === 'batch'
      ? total.map(() => std(total))
      : positionsByGroup(group).flatMap((m) => m.map(() => std(m.map((i) => total[i]))));
  return {
    reward: mean(total),
    reward_std: std(total),
    frac_reward_zero_std: spread.filter((s) => s === 0).length / spread.length,
    ...Object.fromEntries(
      weights.flatMap((_, f) => {
        const column = components.map((row) => row[f]);
        return [
          [`rewards/r${f}/mean`, mean(column)],
          [`rewards/r${f}/std`, std(column)],
        ];
      }),
    ),
  } as Record<string, number>;
}

export const metricCases = (
  name: string,
  expected: Record<string, number>,
  actual: Record<string, number>,
): PlainCase[] =>
  Object.entries(expected ?? {}).map(([key, value]) => ({
    name: `${name} ${key}`,
    expected: [value],
    actual: [actual[key]],
  }));
