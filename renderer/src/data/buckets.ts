/** Points a line draws at most. */
export const MAX_POINTS = 600;

export type Point = { step: number } & Record<string, number | null>;

/**
 * Rows for a chart: every step while they are few, else buckets of steps with two rows each, the smallest and the
 * largest value in the order they came, so that no spike is lost.
 */
export function bucketed(
  steps: Float64Array,
  columns: Record<string, Float64Array | undefined>,
  limit = MAX_POINTS,
): Point[] {
  const keys = Object.keys(columns);
  const count = steps.length;
  if (count <= limit) {
    return Array.from({ length: count }, (_, index) => {
      const point: Point = { step: steps[index]! };
      for (const key of keys) point[key] = value(columns[key], index);
      return point;
    });
  }
  const buckets = Math.floor(limit / 2);
  const points: Point[] = [];
  for (let bucket = 0; bucket < buckets; bucket += 1) {
    const from = Math.floor((bucket * count) / buckets);
    const to = Math.max(from + 1, Math.floor(((bucket + 1) * count) / buckets));
    const first: Point = { step: steps[from]! };
    const second: Point = { step: steps[Math.max(from, to - 1)]! };
    for (const key of keys) {
      const [a, b] = extremes(columns[key], from, to);
      first[key] = a;
      second[key] = b;
    }
    points.push(first);
    if (second.step > first.step) points.push(second);
  }
  return points;
}

function value(column: Float64Array | undefined, index: number): number | null {
  const number = column?.[index];
  return number === undefined || !Number.isFinite(number) ? null : number;
}

/** Smallest and largest of a bucket, in the order in which they occur. */
function extremes(
  column: Float64Array | undefined,
  from: number,
  to: number,
): [number | null, number | null] {
  let low = -1;
  let high = -1;
  for (let index = from; index < to; index += 1) {
    if (value(column, index) === null) continue;
    if (low === -1 || column![index]! < column![low]!) low = index;
    if (high === -1 || column![index]! > column![high]!) high = index;
  }
  if (low === -1) return [null, null];
  return low <= high ? [column![low]!, column![high]!] : [column![high]!, column![low]!];
}
