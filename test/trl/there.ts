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

/** TRL's run of a seed. `adapter`: where it begins. `replay`: on these answers instead of its own. */
export async function runThere(
  binary: string,
  recipe: Recipe,
  seed: number,
  adapter: string,
  scratch: string,
  replay?: Here['replay'],
): Promise<There> {
  return runScript('train.py', binary, recipe, seed, adapter, scratch, replay);
}

/** The steps of a recipe that does not sample, in double precision. */
export async function runExact(
  binary: string,
  recipe: Recipe,
  seed: number,
  adapter: string,
  scratch: string,
): Promise<Steps> {
  return runScript('exact.py', binary, recipe, seed, adapter, scratch);
}

async function runScript<Result>(
  script: string,
  binary: string,
  recipe: Recipe,
  seed: number,
  adapter: string,
  scratch: string,
  replay?: Here['replay'],
): Promise<Result> {
  const [file, out] = [join(scratch, 'recipe.json'), join(scratch, 'curve.json')];
  const { algorithm, steps } = recipe;
  const whole = {
    ...{ algorithm, steps, seed, base: BASE, adapter, scratch, out },
    ...(await recipe.trl(seed)),
    ...(replay && { rollouts: replay.rollouts, trained: replay.adapter }),
  };
  writeFileSync(file, JSON.stringify(whole));
  execFileSync(binary, [join(appRoot(), 'test/trl', script), file], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  return JSON.parse(readFileSync(out, 'utf8')) as Result;
}
