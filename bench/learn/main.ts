// npm run learn: does each algorithm learn? A run for each on the bundled model and three seeds, and what it did to
// rows that it never saw; a table, JSON lines and a picture.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readArguments, readNumber, refuseMore } from '../../electron/headless/command';
import { appRoot } from '../../electron/backend/system';
import { AtelierError } from '../../shared/rpc';
import { CASES } from './cases';
import { oneRun, type OneRun } from './one-run';
import { learnPicture } from './picture';
import { learnTable } from './table';

const { values, positionals, device } = readArguments(process.argv.slice(2), {
  seeds: { type: 'string', default: '0,1,2' },
  only: { type: 'string', default: Object.keys(CASES).join(';') },
  out: { type: 'string', default: join(appRoot(), 'build', 'reports') },
  resume: { type: 'boolean', default: false },
});
refuseMore(
  positionals,
  0,
  '[--only "DPO;KTO"] [--seeds 0,1,2] [--out FOLDER] [--resume]',
  'npm run learn --',
);
const names = values.only.split(';').map((name) => name.trim());
for (const name of names)
  if (!CASES[name])
    throw new AtelierError('invalid_input', `--only ${name}: choose from ${Object.keys(CASES).join('; ')}.`);

const seeds = values.seeds.split(',').map((seed) => readNumber('--seeds', seed));

mkdirSync(values.out, { recursive: true });
const kept = join(values.out, 'learn.jsonl');
const before = values.resume && existsSync(kept) ? read(kept) : [];
const runs: OneRun[] = [];
for (const name of names)
  for (const seed of seeds) {
    const ran = before.find((run) => run.case === name && run.seed === seed);
    runs.push(ran ?? (await oneRun(device, name, seed)));
    console.log(line(runs.at(-1)!));
    // after each, for all of it takes an hour and may be cut short
    writeFileSync(kept, runs.map((run) => `${JSON.stringify(run, digits)}\n`).join(''));
    writeFileSync(join(values.out, 'learn.md'), learnTable(runs));
    writeFileSync(join(values.out, 'learn.svg'), learnPicture(runs));
  }
const faults = runs.filter(({ fault }) => fault !== null);
console.log(
  `\n${runs.length - faults.length} learnt, ${faults.length} did not. Table and picture: ${values.out}`,
);
for (const run of faults) console.log(line(run));
process.exit(faults.length === 0 ? 0 : 1);

/** Runs of an earlier start; those of a fault run again. */
function read(path: string): OneRun[] {
  const runs = readFileSync(path, 'utf8').trim().split('\n').map(parse);
  return runs.filter(({ fault }) => fault === null);
}

function line({ case: name, seed, measure, before, after, margin, processorSeconds, fault }: OneRun): string {
  return (
    `${fault === null ? 'pass' : 'FAIL'}  ${name.padEnd(26)} seed ${seed}  ${measure.padEnd(18)} ` +
    `${before.toFixed(3)} -> ${after.toFixed(3)}  (by ${margin})  ${processorSeconds.toFixed(0)} s` +
    (fault === null ? '' : `  ${fault}`)
  );
}

/** JSON has no NaN: it is null there. */
function parse(text: string): OneRun {
  const run = JSON.parse(text) as Omit<OneRun, 'curve'> & { curve: (number | null)[] };
  return { ...run, curve: run.curve.map((value) => value ?? NaN) };
}

/** Five digits are enough for a picture. */
function digits(_key: string, value: unknown): unknown {
  return typeof value === 'number' ? Number(value.toPrecision(5)) : value;
}
