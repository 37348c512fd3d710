// npm run test:trl: the same recipe in TRL and here, GRPO and SFT on the bundled model, five seeds each; GRPO in TRL on
// the answers that were sampled here; and SFT in double precision. `--time`: only what a step costs, the two in turn.
import { appendFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { appRoot } from '../../electron/backend/system';
import { readArguments, readNumber, refuseMore } from '../../electron/headless/command';
import { AtelierError } from '../../shared/rpc';
import { python } from '../python';
import {
  compareAdapters,
  compareExact,
  compareSame,
  compareSpread,
  type Outcome,
  type Steps,
  type Verdict,
} from './compare';
import { firstAdapter, runHere } from './here';
import { curvesPicture, type Sides } from './picture';
import { RECIPES, type Recipe } from './recipes';
import { runExact, runThere } from './there';
import { timed, timeLines, timeTable } from './time';

const { values, positionals, device } = readArguments(process.argv.slice(2), {
  seeds: { type: 'string', default: '0,1,2,3,4' },
  only: { type: 'string', default: 'grpo,sft' },
  time: { type: 'boolean', default: false },
  out: { type: 'string', default: join(appRoot(), 'build', 'reports') },
});
refuseMore(
  positionals,
  0,
  '[--only grpo,sft] [--seeds 0,1,2] [--time] [--out FOLDER]',
  'npm run test:trl --',
);
const recipes = values.only.split(',').map((name) => {
  const recipe = RECIPES.find(({ algorithm }) => algorithm === name);
  if (recipe) return recipe;
  throw new AtelierError('invalid_input', `--only ${name}: choose from grpo, sft.`);
});
const seeds = values.seeds.split(',').map((seed) => readNumber('--seeds', seed));
const scratch = mkdtempSync(join(tmpdir(), 'atelier-trl-'));
let failed = 0;
try {
  mkdirSync(values.out, { recursive: true });
  const binary = python();
  const all: Sides[] = [];
  for (const recipe of recipes) {
    if (values.time) {
      const start = (seed: number) => ({ binary, recipe, seed, scratch });
      const lines = timeLines(device, recipe, await timed(device, recipe, seeds.map(start)));
      console.log(`\n${timeTable(lines)}\n`);
      for (const line of lines) console.log(JSON.stringify(line));
      appendFileSync(
        join(values.out, 'trl-time.jsonl'),
        lines.map((line) => `${JSON.stringify(line)}\n`).join(''),
      );
      continue;
    }
    const { sides, verdicts } = await both(binary, recipe);
    all.push(sides);
    for (const { table, good } of verdicts) {
      console.log(`\n${recipe.algorithm}: ${table}\n`);
      if (!good) failed++;
    }
    writeFileSync(join(values.out, `trl-${recipe.algorithm}.json`), JSON.stringify({ seeds, ...sides }));
  }
  if (!values.time) writeFileSync(join(values.out, 'trl.svg'), curvesPicture(all));
} finally {
  rmSync(scratch, { recursive: true, force: true });
}
process.exit(failed === 0 ? 0 : 1);

async function both(binary: string, recipe: Recipe): Promise<{ sides: Sides; verdicts: Verdict[] }> {
  const [ours, theirs]: [Outcome[], Outcome[]] = [[], []];
  const exact: Steps[] = [];
  const verdicts: Verdict[] = [];
  for (const [k, seed] of seeds.entries()) {
    const { replay, ...here } = await runHere(device, recipe, seed, scratch, recipe.answers > 0 && k === 0);
    const start = { binary, recipe, seed, scratch, adapter: await firstAdapter(device, seed, scratch) };
    ours.push(here);
    theirs.push(await runThere(start));
    if (recipe.answers === 0) exact.push(await runExact(start));
    if (replay) {
      const replayed = await runThere(start, replay);
      verdicts.push(compareSame([here], [replayed]), compareAdapters(replayed.adapterDifference!));
    }
  }
  verdicts.push(recipe.answers > 0 ? compareSpread(ours, theirs) : compareExact(ours, theirs, exact));
  return { sides: { recipe, ours, theirs }, verdicts };
}
