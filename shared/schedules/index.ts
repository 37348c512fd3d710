/**
 * Learning-rate factors: entry k multiplies the base rate of the k-th update, counted from 0, as
 * transformers 5.24.0 (transformers.optimization). With a warm-up the first update has factor 0.
 */
export type Schedule = 'constant' | 'linear' | 'cosine';

export interface SchedulePlan {
  schedule: Schedule;
  /** Updates over which the factor rises from 0. */
  warmup: number;
  /** Updates in all. */
  updates: number;
}

const AFTER: Record<Schedule, (progress: number) => number> = {
  constant: () => 1,
  linear: (progress) => 1 - progress,
  cosine: (progress) => (1 + Math.cos(Math.PI * progress)) / 2,
};

/** The factor of update `k`, 0 to 1. */
export function learningRateFactor({ schedule, warmup, updates }: SchedulePlan, k: number): number {
  if (k < warmup) return k / Math.max(1, warmup);
  const progress = (k - warmup) / Math.max(1, updates - warmup);
  return Math.max(0, AFTER[schedule](Math.min(1, progress)));
}
