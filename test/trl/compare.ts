export interface Steps {
  /** One value a step. */
  curve: number[];
  /** One a step, before clipping. */
  gradNorms: number[];
}

/** Seconds of a step: on the clock, of that until the answers are sampled, and of all processors together. */
export interface StepCost {
  seconds: number;
  sampling: number;
  processor: number;
}

export interface Outcome extends Steps {
  /** Of all steps but the first. */
  costs: StepCost[];
}

export interface Verdict {
  table: string;
  good: boolean;
}

/** Steps whose mean is one point: single steps are mostly noise. */
const WINDOW = 10;
/** Below it, a difference of whole curves is no accident. */
const LEAST_P = 0.01;
/** Both sides compute in f32 and sum in another order. */
const SAME = { value: 1e-5, adapter: 1e-3, gradNorm: 1e-3 };
const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;

/**
 * Curves of runs that sample for themselves, in windows of ten steps. Good where in each window the means over the
 * seeds lie no farther apart than the peer's own seeds do, and neither side is ahead over all steps.
 */
export function compareSpread(ours: readonly Outcome[], theirs: readonly Outcome[]): Verdict {
  const steps = ours[0]!.curve.length;
  const lines = [`${ours.length} seeds          here      TRL   their seeds          difference       p`];
  const whole = rowOf(ours, theirs, 0, steps);
  let good = whole.p >= LEAST_P;
  for (let from = 0; from < steps; from += WINDOW) {
    const to = Math.min(from + WINDOW, steps);
    const { text, within } = rowOf(ours, theirs, from, to);
    good &&= within;
    lines.push(`steps ${String(from + 1).padStart(3)}-${String(to).padEnd(4)} ${text}`);
  }
  lines.push(`all            ${whole.text}`, speed(ours, theirs));
  return { table: lines.join('\n'), good };
}

function rowOf(ours: readonly Outcome[], theirs: readonly Outcome[], from: number, to: number) {
  const point = ({ curve }: Outcome) => mean(curve.slice(from, to));
  const [here, there] = [ours.map(point), theirs.map(point)];
  const differences = here.map((value, k) => value - there[k]!);
  const [low, high] = [Math.min(...there), Math.max(...there)];
  const within = Math.abs(mean(differences)) <= high - low;
  const p = signFlip(differences);
  const f = (value: number) => value.toFixed(4).padStart(8);
  const text =
    `${f(mean(here))} ${f(mean(there))}  ${f(low)} to ${f(high)}  ${f(mean(differences))}  ` +
    `${within ? 'within ' : 'OUTSIDE'}  ${p.toFixed(3)}`;
  return { text, within, p };
}

/**
 * Two-sided p-value of paired differences: the share of all choices of signs under which their sum is as far from 0
 * (Fisher's randomisation test). With n pairs it is at least 2 / 2^n.
 */
export function signFlip(differences: readonly number[]): number {
  const aim = Math.abs(differences.reduce((sum, value) => sum + value, 0)) * (1 - 1e-12);
  const all = 2 ** differences.length;
  let far = 0;
  for (let signs = 0; signs < all; signs++) {
    const sum = differences.reduce((total, value, k) => total + (signs & (1 << k) ? -value : value), 0);
    if (Math.abs(sum) >= aim) far++;
  }
  return far / all;
}

/** Runs on the same rows: each step's value and gradient norm must be the same but for rounding. */
export function compareSame(ours: readonly Outcome[], theirs: readonly Outcome[]): Verdict {
  const differences = (of: (outcome: Outcome) => number[]) =>
    ours
      .flatMap((one, k) => of(one).map((value, step) => Math.abs(value - of(theirs[k]!)[step]!)))
      .sort((a, b) => a - b);
  const value = differences(({ curve }) => curve).at(-1)!;
  const norm = mean(theirs.flatMap(({ gradNorms }) => gradNorms));
  const gradNorms = differences(({ gradNorms: norms }) => norms).map((difference) => difference / norm);
  const [median, largest] = [gradNorms[Math.floor(gradNorms.length / 2)]!, gradNorms.at(-1)!];
  const good = value <= SAME.value && largest <= SAME.gradNorm;
  const table = [
    `${ours.length} seeds, ${ours[0]!.curve.length} steps on the same rows: the largest difference of a step is ` +
      `${value.toExponential(1)}, of a gradient's norm ${largest.toExponential(1)} of their mean (median ` +
      `${median.toExponential(1)}): ` +
      (good ? 'the same' : 'DIFFERENT'),
    speed(ours, theirs),
  ];
  return { table: table.join('\n'), good };
}

/** Of both sides' distances from double precision: more than this times the peer's, and ours is no rounding. */
const AS_FAR = 2;

/**
 * Runs on the same rows, where training amplifies rounding (AdamW divides small gradients by themselves): their steps in
 * double precision are the measure. Good where our values are theirs, and our gradient norms no farther from exact ones
 * than the peer's are, on average and in the worst step. (Plain torch in f32, five seeds: 1.4e-4 of the mean norm on
 * average and 5e-3 in the worst step, 6e-3 on a GPU; ours then 1.1e-4 and 4e-3.)
 */
export function compareExact(
  ours: readonly Outcome[],
  theirs: readonly Outcome[],
  exact: readonly Steps[],
): Verdict {
  const distances = (side: readonly Outcome[], of: (steps: Steps) => number[]) =>
    exact.flatMap((one, k) => of(one).map((value, step) => Math.abs(value - of(side[k]!)[step]!)));
  const value = Math.max(...[ours, theirs].flatMap((side) => distances(side, ({ curve }) => curve)));
  const norm = mean(exact.flatMap(({ gradNorms }) => gradNorms));
  const [here, there] = [ours, theirs].map((side) => {
    const all = distances(side, ({ gradNorms }) => gradNorms).map((distance) => distance / norm);
    return { average: mean(all), worst: Math.max(...all) };
  });
  const good =
    value <= SAME.value && here!.average <= AS_FAR * there!.average && here!.worst <= AS_FAR * there!.worst;
  const e = (number: number) => number.toExponential(1);
  const table = [
    `${ours.length} seeds, ${exact[0]!.curve.length} steps on the same rows, against double precision: the largest ` +
      `difference of a value is ${e(value)}; gradient norms are off by ${e(here!.average)} of their mean here and ` +
      `${e(there!.average)} in TRL, at worst ${e(here!.worst)} and ${e(there!.worst)}: ${good ? 'the same' : 'DIFFERENT'}`,
    speed(ours, theirs),
  ];
  return { table: table.join('\n'), good };
}

/** `share`: distance of two adapters that the same rows trained, by how far training moved one. */
export function compareAdapters(share: number): Verdict {
  const good = share <= SAME.adapter;
  return {
    table: `the trained adapters differ by ${share.toExponential(1)} of their way: ${good ? 'the same' : 'DIFFERENT'}`,
    good,
  };
}

/** Medians over the steps of all runs. */
export function medianCost(side: readonly Outcome[]): StepCost {
  const steps = side.flatMap(({ costs }) => costs);
  const median = (key: keyof StepCost) =>
    steps.map((cost) => cost[key]).toSorted((a, b) => a - b)[Math.floor(steps.length / 2)]!;
  return { seconds: median('seconds'), sampling: median('sampling'), processor: median('processor') };
}

function speed(ours: readonly Outcome[], theirs: readonly Outcome[]): string {
  const [here, there] = [ours, theirs].map((side) => medianCost(side).seconds);
  return `seconds a step: ${here!.toFixed(3)} here, ${there!.toFixed(3)} in TRL: ${(there! / here!).toFixed(1)} times`;
}
