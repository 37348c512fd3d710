/** Steps that a line draws one by one; of more it draws buckets. */
export const MAX_POINTS = 600;
const BUCKETS = 300;

/**
 * Values by key at a step. A point that stands for several steps has the mean of each key, and the smallest and the
 * largest value as `key:low` and `key:high`, so that no spike is lost.
 */
export type Point = { step: number } & Record<string, number | null>;

/** Steps that a point of a run of `count` steps stands for; 1 while all are drawn. */
export const stepsPerPoint = (count: number) => (count <= MAX_POINTS ? 1 : Math.ceil(count / BUCKETS));

/** Rows for a chart: every step while they are few, else at most `BUCKETS` buckets of as many steps each. */
export function bucketed(steps: Float64Array, columns: Record<string, Float64Array | undefined>): Point[] {
  const keys = Object.keys(columns);
  const size = stepsPerPoint(steps.length);
  const points: Point[] = [];
  for (let from = 0; from < steps.length; from += size) {
    const to = Math.min(steps.length, from + size);
    // the ends of the curve stay where the run's are
    const at = from === 0 ? 0 : to === steps.length ? to - 1 : (from + to - 1) >> 1;
    const point: Point = { step: steps[at]! };
    for (const key of keys) {
      const { low, high, mean } = summed(columns[key], from, to);
      point[key] = mean;
      if (size > 1) {
        point[`${key}:low`] = low;
        point[`${key}:high`] = high;
      }
    }
    points.push(point);
  }
  return points;
}

function summed(column: Float64Array | undefined, from: number, to: number) {
  let low = Infinity;
  let high = -Infinity;
  let sum = 0;
  let count = 0;
  for (let index = from; index < to; index += 1) {
    const value = column?.[index];
    if (value === undefined || !Number.isFinite(value)) continue;
    low = Math.min(low, value);
    high = Math.max(high, value);
    sum += value;
    count += 1;
  }
  return count === 0 ? { low: null, high: null, mean: null } : { low, high, mean: sum / count };
}
