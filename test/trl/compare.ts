export interface Outcome {
  /** One value a step. */
  curve: number[];
  /** Median. */
  secondsPerStep: number;
}

/** Steps whose mean is one point: single steps are mostly noise. */
const WINDOW = 10;
const mean = (values: number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;

/**
 * Both sides' curves, in windows of ten steps. Good where in each window the means over the seeds lie no farther apart
 * than the peer's own seeds do.
 */
export function compare(name: string, ours: Outcome[], theirs: Outcome[]): { table: string; good: boolean } {
  const steps = ours[0]!.curve.length;
  const lines = [`${name}: ${ours.length} seeds      here      TRL   their seeds          difference`];
  let good = true;
  for (let start = 0; start < steps; start += WINDOW) {
    const point = ({ curve }: Outcome) => mean(curve.slice(start, start + WINDOW));
    const [here, there] = [ours.map(point), theirs.map(point)];
    const spread = Math.max(...there) - Math.min(...there);
    const difference = mean(here) - mean(there);
    const within = Math.abs(difference) <= spread;
    good &&= within;
    const f = (value: number) => value.toFixed(4).padStart(8);
    lines.push(
      `steps ${String(start + 1).padStart(3)}-${String(Math.min(start + WINDOW, steps)).padEnd(4)} ` +
        `${f(mean(here))} ${f(mean(there))}  ${f(Math.min(...there))} to ${f(Math.max(...there))}  ` +
        `${f(difference)}  ${within ? 'within' : 'OUTSIDE'}`,
    );
  }
  const apart = ours.flatMap(({ curve }, k) =>
    curve.map((value, step) => Math.abs(value - theirs[k]!.curve[step]!)),
  );
  lines.push(`largest difference of one step and seed: ${Math.max(...apart).toExponential(1)}`);
  const [here, there] = [ours, theirs].map((side) => mean(side.map((outcome) => outcome.secondsPerStep)));
  lines.push(
    `seconds a step: ${here!.toFixed(3)} here, ${there!.toFixed(3)} in TRL: ${(there! / here!).toFixed(1)} times`,
  );
  return { table: lines.join('\n'), good };
}
