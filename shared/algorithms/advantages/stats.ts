/** Statistics of the numbers that are there: NaN stands for a missing one and never counts. */
export const present = (xs: readonly number[]): number[] => xs.filter((x) => !Number.isNaN(x));

export function mean(xs: readonly number[]): number {
  const v = present(xs);
  return v.reduce((a, b) => a + b, 0) / v.length;
}

/**
 * Unbiased standard deviation in two passes; NaN for fewer than two numbers. Exactly 0 where all are equal, which
 * a rounded mean would hide.
 */
export function std(xs: readonly number[]): number {
  const v = present(xs);
  if (v.length < 2) return NaN;
  if (v.every((x) => x === v[0])) return 0;
  const m = mean(v);
  return Math.sqrt(v.reduce((s, x) => s + (x - m) ** 2, 0) / (v.length - 1));
}

/** Positions by group, in order of first appearance. */
export function positionsByGroup(group: readonly number[]): number[][] {
  const groups = new Map<number, number[]>();
  group.forEach((g, i) => {
    const members = groups.get(g);
    if (members) members.push(i);
    else groups.set(g, [i]);
  });
  return [...groups.values()];
}
