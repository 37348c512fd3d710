import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { appRoot } from '../../electron/backend/system';
import type { Outcome, Steps } from './compare';
import type { Here } from './here';
import { BASE, type Recipe } from './recipes';

export interface There extends Outcome {
  /** With `replay`: distance of the trained adapters, as a share of how far training moved ours. */
  adapterDifference?: number;
}

/** Where a seed's run begins and what it needs. */
export interface Start {
  binary: string;
  recipe: Recipe;
  seed: number;
  /** The first adapter, a PEFT folder. */
  adapter: string;
  scratch: string;
}

/** TRL's run of a seed. `replay`: on these answers instead of its own. */
export const runThere = (start: Start, replay?: Here['replay']): Promise<There> =>
  runScript('train.py', start, replay ? { rollouts: replay.rollouts, trained: replay.adapter } : {});

/** The steps of a recipe that does not sample, in double precision. */
export const runExact = (start: Start): Promise<Steps> => runScript('exact.py', start);

async function runScript<Result>(
  script: string,
  { binary, recipe, seed, adapter, scratch }: Start,
  more: object = {},
): Promise<Result> {
  const [file, out] = [join(scratch, 'recipe.json'), join(scratch, 'curve.json')];
  const { algorithm, steps } = recipe;
  const whole = {
    ...{ algorithm, steps, seed, base: BASE, adapter, scratch, out },
    ...(await recipe.trl(seed)),
    ...more,
  };
  writeFileSync(file, JSON.stringify(whole));
  execFileSync(binary, [join(appRoot(), 'test/trl', script), file], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  return JSON.parse(readFileSync(out, 'utf8')) as Result;
}
