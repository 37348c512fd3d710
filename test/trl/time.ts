// What a step costs on both sides, run after run in turn: whatever else the machine does falls on both.
import { cpus } from 'node:os';
import type { Device } from '../../native';
import { medianCost, type Outcome, type StepCost } from './compare';
import { firstAdapter, runHere } from './here';
import type { Recipe } from './recipes';
import { runThere, type Start } from './there';

interface Sides {
  ours: Outcome[];
  theirs: Outcome[];
}

/** A figure of both sides, in seconds of one step; medians over all steps but each run's first. */
export interface TimeLine {
  figure: string;
  /** What the step is made of. */
  shape: string;
  /** Ours, and the machine. TRL runs on its processors. */
  device: string;
  atelier: number;
  trl: number;
  /** How many times as long TRL takes. */
  ratio: number;
}

export async function timed(
  device: Device,
  recipe: Recipe,
  runs: readonly Omit<Start, 'adapter'>[],
): Promise<Sides> {
  const sides: Sides = { ours: [], theirs: [] };
  for (const run of runs) {
    sides.ours.push(await runHere(device, recipe, run.seed, run.scratch, false));
    const adapter = await firstAdapter(device, run.seed, run.scratch);
    sides.theirs.push(await runThere({ ...run, adapter }));
  }
  return sides;
}

export function timeLines(device: Device, recipe: Recipe, { ours, theirs }: Sides): TimeLine[] {
  const [here, there] = [medianCost(ours), medianCost(theirs)];
  const line = (figure: string, of: (cost: StepCost) => number): TimeLine => ({
    figure: `${recipe.algorithm}: ${figure}`,
    shape: `${recipe.shape}, LoRA r16, 0.5 million parameters`,
    device: `${device}; ${cpus().length} x ${cpus()[0]!.model.trim()}`,
    atelier: of(here),
    trl: of(there),
    ratio: of(there) / of(here),
  });
  return [
    line('a step', ({ seconds }) => seconds),
    ...(recipe.answers > 0
      ? [
          line('of it sampling', ({ sampling }) => sampling),
          line('of it the rest', ({ seconds, sampling }) => seconds - sampling),
        ]
      : []),
    line('processor seconds of a step', ({ processor }) => processor),
  ];
}

export function timeTable(lines: readonly TimeLine[]): string {
  const f = (value: number) => value.toFixed(3).padStart(8);
  return [
    `${lines[0]!.shape} (${lines[0]!.device})`,
    `${'seconds'.padEnd(36)} Atelier      TRL    ratio`,
    ...lines.map(
      ({ figure, atelier, trl, ratio }) =>
        `${figure.padEnd(35)} ${f(atelier)} ${f(trl)} ${ratio.toFixed(2).padStart(8)}`,
    ),
  ].join('\n');
}
