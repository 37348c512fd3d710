import { meanLine, picture, type Panel } from '../picture';
import type { OneRun } from './one-run';

const SEED = '#9bb8dd';
const MEAN = '#1f4e9c';
const HELD_OUT = '#d2691e';
/** Share of a run that a point of the mean looks at: single steps are mostly noise. */
const WINDOW = 1 / 10;
/** Held-out measures in the unit of the curve. */
const SAME_UNIT: Record<string, string> = {
  'held_out/sampled': 'reward/mean',
  'held_out/nll': 'train/nll',
  'held_out/accuracy': 'preference/accuracy',
};

/** A panel a case: each seed's headline metric step by step, their mean, and the held-out measure at both ends. */
export function learnPicture(runs: readonly OneRun[]): string {
  const names = [...new Set(runs.map((run) => run.case))];
  return picture({
    title: 'npm run learn: what each algorithm does to the bundled model',
    legend: [
      { text: 'a seed', color: SEED },
      { text: 'mean of the seeds, over a tenth of the steps', color: MEAN },
      { text: 'held out, before and after (mean)', color: HELD_OUT },
    ],
    columns: 6,
    plot: { width: 190, height: 100 },
    panels: names.map((name) => panelOf(runs.filter((run) => run.case === name))),
  });
}

function panelOf(runs: readonly OneRun[]): Panel {
  const { case: title, measure, metric } = runs[0]!;
  const curves = runs.map(({ curve }) => curve);
  const steps = Math.max(...curves.map(({ length }) => length));
  const mean = (of: (run: OneRun) => number) => meanLine(runs.map((run) => [of(run)]))[0]!;
  const [before, after] = [mean((run) => run.before), mean((run) => run.after)];
  const missed = runs.filter(({ fault }) => fault !== null).length;
  return {
    title,
    note: metric,
    caption: `${measure} ${before.toFixed(3)} → ${after.toFixed(3)}`,
    ...(missed > 0 && { alarm: `${missed} of ${runs.length} did not learn` }),
    lines: [
      ...curves.map((values) => ({ values, color: SEED, width: 0.8 })),
      { values: meanLine(curves, Math.round(steps * WINDOW)), color: MEAN, width: 1.8 },
    ],
    ...(SAME_UNIT[measure] === metric && {
      dots: [
        { step: 0, value: before, color: HELD_OUT },
        { step: steps, value: after, color: HELD_OUT },
      ],
    }),
  };
}
