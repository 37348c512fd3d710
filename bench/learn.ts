// Does each algorithm learn? A run on the bundled model for each, and what it did to rows that it never saw.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readArguments } from '../electron/headless/command';
import { openLocal } from '../electron/headless/local';
import { showRun } from '../electron/headless/terminal-run';
import type { Device } from '../native';
import { demo, learnsWith } from '../shared/contract/demo';
import type { RunConfigInput } from '../shared/contract/runs';

interface Case {
  params: Record<string, unknown>;
  /** Data set whose name its held-out rows begin with. */
  dataset: string;
  /** A run that teaches first, and whose adapter is then the teacher. */
  taughtBy?: string;
  /** What of the held-out measures must move, and by how much at least. */
  measure: string;
  margin: number;
}

const rewarded = (algorithm: string, params: Record<string, unknown> = {}): Case & { algorithm: string } => ({
  algorithm,
  params: { ...learnsWith[algorithm], ...params },
  dataset: 'sums',
  measure: 'held_out/sampled',
  margin: 0.25,
});

/** By algorithm, with a name of its own where one has several. */
const CASES: Record<string, Case & { algorithm?: string }> = {
  grpo: rewarded('grpo'),
  'grpo cispo': rewarded('grpo', { objective: 'cispo' }),
  'grpo sapo': rewarded('grpo', { objective: 'sapo', normalisation: 'grpo' }),
  'grpo vespo': rewarded('grpo', { objective: 'vespo' }),
  gspo: rewarded('gspo'),
  rloo: rewarded('rloo'),
  reinforce_plus_plus: rewarded('reinforce_plus_plus'),
  ppo: rewarded('ppo'),
  sft: {
    params: learnsWith['sft']!,
    dataset: 'sums-pairs', // the better answers
    measure: 'held_out/nll',
    // the base model's is 0.031: it writes all but the carries
    margin: -0.02,
  },
  dpo: {
    params: learnsWith['dpo']!,
    dataset: 'sums-pairs',
    measure: 'held_out/accuracy',
    margin: 0.3,
  },
  simpo: {
    params: learnsWith['simpo']!,
    dataset: 'sums-pairs',
    measure: 'held_out/accuracy',
    margin: 0.3,
  },
  orpo: {
    params: learnsWith['orpo']!,
    dataset: 'sums-pairs',
    measure: 'held_out/accuracy',
    margin: 0.3,
  },
  kto: {
    params: learnsWith['kto']!,
    dataset: 'sums-rated',
    measure: 'held_out/margin',
    margin: 1,
  },
  reward_model: {
    params: learnsWith['reward_model']!,
    dataset: 'sums-pairs',
    measure: 'held_out/accuracy',
    margin: 0.3,
  },
  distill: {
    params: learnsWith['distill']!,
    dataset: 'sums-pairs',
    taughtBy: 'sft',
    measure: 'held_out/nll',
    margin: -0.02,
  },
};

export async function benchLearn(args: string[]): Promise<number> {
  const { values, device } = readArguments(args, {
    seeds: { type: 'string', default: '0,1,2' },
    only: { type: 'string', default: Object.keys(CASES).join(',') },
  });
  const lines: string[] = [];
  let missed = 0;
  for (const name of values.only.split(',')) {
    const found = CASES[name];
    if (!found) throw new Error(`--only ${name}: choose from ${Object.keys(CASES).join(', ')}.`);
    for (const seed of values.seeds.split(',').map(Number)) {
      const { before, after, seconds } = await oneRun(device, name, found, seed);
      const moved = after - before;
      const good = found.margin > 0 ? moved >= found.margin : moved <= found.margin;
      if (!good) missed++;
      lines.push(
        `${good ? 'pass' : 'FAIL'}  ${name.padEnd(20)} seed ${seed}  ${found.measure.padEnd(18)} ` +
          `${before.toFixed(3)} -> ${after.toFixed(3)}  (by ${found.margin})  ${seconds.toFixed(0)} s`,
      );
      console.log(lines.at(-1));
    }
  }
  console.log(`\n${lines.join('\n')}\n${lines.length - missed} learnt, ${missed} did not`);
  return missed === 0 ? 0 : 1;
}

/** What a run of another case has taught the model. */
async function taught(local: Awaited<ReturnType<typeof openLocal>>, name: string, seed: number) {
  const { params, dataset } = CASES[name]!;
  const { id } = await local.client.runs.start({
    name: `Teacher: ${name}`,
    algorithm: name,
    model: demo.model,
    data: { dataset },
    params,
    seed,
    checkpointEvery: 1000,
  });
  const { status } = await showRun(local.client, id);
  if (status !== 'completed') throw new Error(`the teacher, ${name}, seed ${seed}: the run is ${status}`);
  return { model: demo.model, adapter: { run: id } };
}

async function oneRun(device: Device, name: string, of: Case & { algorithm?: string }, seed: number) {
  const home = mkdtempSync(join(tmpdir(), 'atelier-learn-'));
  const local = await openLocal({ home, device });
  try {
    const teacher = of.taughtBy === undefined ? null : await taught(local, of.taughtBy, seed);
    const started = performance.now();
    const config: RunConfigInput = {
      name: `Learn: ${name}`,
      algorithm: of.algorithm ?? name,
      model: demo.model,
      data: {
        dataset: of.dataset,
        heldOut: { dataset: `${of.dataset}-held-out`, rows: 128 },
      },
      rewards: of.dataset === 'sums' ? [{ id: 'sums' }] : [],
      teacher,
      params: of.params,
      seed,
      checkpointEvery: 1000,
    };
    const { id } = await local.client.runs.start(config);
    const { status, heldOut } = await showRun(local.client, id);
    if (status !== 'completed') throw new Error(`${name}, seed ${seed}: the run is ${status}`);
    return {
      before: heldOut.before![of.measure]!,
      after: heldOut.after![of.measure]!,
      seconds: (performance.now() - started) / 1000,
    };
  } finally {
    await local.close();
    rmSync(home, { recursive: true, force: true });
  }
}
