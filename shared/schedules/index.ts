/**
 * Learning-rate factors: entry k multiplies the base rate of the k-th update, counted from 0, as
 * transformers 5.24.0 (transformers.optimization). With a warm-up the first update has factor 0 (`floor` for
 * `stable`).
 */
export type Schedule =
  'constant' | 'linear' | 'cosine' | 'restarts' | 'polynomial' | 'inverse-sqrt' | 'stable';

export interface SchedulePlan {
  schedule: Schedule;
  /** Updates over which the factor rises. */
  warmup: number;
  /** Updates in all. */
  updates: number;
  /** Where the factor ends, 0 to 1, default 0: linear, cosine, polynomial, stable. */
  floor?: number;
  /** restarts: cosine waves, each from 1 to 0; default 1. */
  cycles?: number;
  /** polynomial: default 1. */
  power?: number;
  /** stable: updates of the cosine at the end; default: a tenth of all. */
  decay?: number;
}

/** From 1 at 0 to 0 at 1. */
const wave = (x: number) => (1 + Math.cos(Math.PI * x)) / 2;

/** Factor after the warm-up; `progress` goes from 0 to 1, `k` counts from the run's start. */
const AFTER: Record<Schedule, (progress: number, k: number, plan: Required<SchedulePlan>) => number> = {
  constant: () => 1,
  linear: (progress, _, { floor }) => floor + (1 - floor) * (1 - progress),
  cosine: (progress, _, { floor }) => floor + (1 - floor) * wave(progress),
  restarts: (progress, _, { cycles }) => (progress >= 1 ? 0 : wave((cycles * progress) % 1)),
  polynomial: (progress, _, { floor, power }) => floor + (1 - floor) * (1 - progress) ** power,
  'inverse-sqrt': (_, k, { warmup }) => Math.sqrt(Math.max(1, warmup) / Math.max(1, k)),
  stable: (_, k, { updates, decay, floor }) =>
    floor + (1 - floor) * wave(Math.max(0, Math.min(1, (k - (updates - decay)) / decay))),
};

/** The factor of update `k`, 0 to 1. */
export function learningRateFactor(plan: SchedulePlan, k: number): number {
  const whole = { floor: 0, cycles: 1, power: 1, decay: Math.ceil(plan.updates / 10), ...plan };
  const { schedule, warmup, updates, floor } = whole;
  if (k < warmup) {
    const start = schedule === 'stable' ? floor : 0;
    return start + ((1 - start) * k) / warmup;
  }
  return AFTER[schedule](Math.min(1, (k - warmup) / Math.max(1, updates - warmup)), k, whole);
}
