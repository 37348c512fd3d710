// npm run test:trl: the same recipe in TRL and here, GRPO and SFT on the bundled model, five seeds each.
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { appRoot } from '../../electron/backend/system';
import { ModelText } from '../../electron/backend/text';
import { DataOrder, draw } from '../../electron/backend/train';
import { openLocal } from '../../electron/headless/local';
import { showRun } from '../../electron/headless/terminal-run';
import { engineModule, type Device } from '../../native';
import { demo } from '../../shared/contract/demo';
import type { RunConfigInput } from '../../shared/contract/runs';
import { python } from '../python';
import { compare, type Outcome } from './compare';

const device = (process.env['ATELIER_DEVICE'] ?? 'cpu') as Device;
const root = appRoot();
const base = join(root, 'resources/models', demo.model);
const lora = { loraRank: 16, loraAlpha: 32 };

const readRows = (name: string): Record<string, string>[] =>
  readFileSync(join(root, 'resources/datasets', `${name}.jsonl`), 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, string>);

/** What a recipe is here, in TRL, and how its curve is called. */
interface Recipe {
  algorithm: 'grpo' | 'sft';
  steps: number;
  config: Omit<RunConfigInput, 'seed' | 'name'>;
  metric: string;
  /** TRL's side beyond model, adapter and seed. */
  trl: (seed: number) => Promise<Record<string, unknown>>;
}

const grpo = { prompts: 8, groupSize: 8, maxNewTokens: 64, learningRate: 2e-4 };
const SFT_STEPS = 60;
const sft = { batchSize: 32, learningRate: 1e-3 };
const recipes: Recipe[] = [
  {
    algorithm: 'grpo',
    steps: 60,
    metric: 'reward/mean',
    config: {
      algorithm: 'grpo',
      model: demo.model,
      data: { dataset: 'sums', heldOut: null },
      rewards: [{ id: 'sums' }],
      params: { ...grpo, ...lora, steps: 60 },
    },
    trl: async () => ({
      ...grpo,
      rows: readRows('sums').map(({ prompt, answer }) => ({
        prompt: [{ role: 'user', content: prompt }],
        answer,
      })),
    }),
  },
  {
    algorithm: 'sft',
    steps: SFT_STEPS,
    metric: 'train/nll',
    config: {
      algorithm: 'sft',
      model: demo.model,
      data: { dataset: 'sums-worked', heldOut: null },
      params: { ...sft, ...lora, epochs: 4, schedule: 'constant', warmup: 0 },
    },
    trl: async (seed) => {
      const text = await ModelText.fromFolder(base);
      const rows: { input_ids: number[]; completion_mask: number[] }[] = [];
      for (const { prompt, completion } of readRows('sums-worked')) {
        const { ids, lossMask } = await text.example({
          kind: 'messages',
          messages: [
            { role: 'user', content: prompt! },
            { role: 'assistant', content: completion! },
          ],
        });
        rows.push({ input_ids: [...ids], completion_mask: [...lossMask] });
      }
      const order = new DataOrder(rows.length, sft.batchSize, seed, 'ragged');
      const taken = Array.from({ length: SFT_STEPS }, (_, k) => order.step(k + 1)).flat();
      return { ...sft, rows: taken.map((k) => rows[k]) };
    },
  },
];

const { values } = parseArgs({
  options: { seeds: { type: 'string', default: '0,1,2,3,4' }, only: { type: 'string', default: 'grpo,sft' } },
});
const seeds = values.seeds.split(',').map(Number);
const scratch = mkdtempSync(join(tmpdir(), 'atelier-trl-'));
const reports = join(root, 'build', 'reports');
let failed = 0;
try {
  const binary = python();
  for (const recipe of recipes.filter(({ algorithm }) => values.only.split(',').includes(algorithm))) {
    const theirs: Outcome[] = [];
    const ours: Outcome[] = [];
    for (const seed of seeds) {
      ours.push(await runHere(recipe, seed));
      theirs.push(await runThere(binary, recipe, seed));
    }
    const { table, good } = compare(recipe.algorithm, ours, theirs);
    console.log(`\n${table}\n`);
    mkdirSync(reports, { recursive: true });
    writeFileSync(join(reports, `trl-${recipe.algorithm}.json`), JSON.stringify({ seeds, ours, theirs }));
    if (!good) failed++;
  }
} finally {
  rmSync(scratch, { recursive: true, force: true });
}
process.exit(failed === 0 ? 0 : 1);

async function runHere(recipe: Recipe, seed: number): Promise<Outcome> {
  const home = mkdtempSync(join(scratch, 'home-'));
  const local = await openLocal({ home, device });
  const curve: number[] = [];
  const seconds: number[] = [];
  try {
    const { id } = await local.client.runs.start({
      ...recipe.config,
      name: `${recipe.algorithm} ${seed}`,
      seed,
      checkpointEvery: 1000,
    });
    const { status, message } = await showRun(local.client, id);
    if (status !== 'completed') throw new Error(`seed ${seed}: the run is ${status}: ${message}`);
    for await (const row of local.client.runs.follow({ id })) {
      if (row.kind !== 'step') continue;
      curve.push(row.metrics[recipe.metric]!);
      seconds.push(row.metrics['perf/step_seconds']!);
    }
  } finally {
    await local.close();
  }
  seconds.sort((a, b) => a - b);
  return {
    curve: curve.slice(0, recipe.steps),
    secondsPerStep: seconds[Math.floor(seconds.length / 2)]!,
  };
}

async function runThere(binary: string, recipe: Recipe, seed: number): Promise<Outcome> {
  const [file, out] = [join(scratch, 'recipe.json'), join(scratch, 'curve.json')];
  const { algorithm, steps } = recipe;
  const more = await recipe.trl(seed);
  writeFileSync(
    file,
    JSON.stringify({
      algorithm,
      steps,
      seed,
      base,
      adapter: await firstAdapter(seed),
      scratch,
      out,
      ...more,
    }),
  );
  execFileSync(binary, [join(root, 'test/trl/train.py'), file], { stdio: ['ignore', 'ignore', 'inherit'] });
  return JSON.parse(readFileSync(out, 'utf8')) as Outcome;
}

/** The adapter that the run of a seed begins with, as a PEFT folder. */
async function firstAdapter(seed: number): Promise<string> {
  const folder = mkdtempSync(join(scratch, 'adapter-'));
  const engine = engineModule(device).createEngine({ device });
  const { id: model } = await engine.loadModel(base);
  const { id, modules } = await engine.createAdapter(model, {
    rank: lora.loraRank,
    alpha: lora.loraAlpha,
    targetModules: 'all-linear',
    seed: draw(seed, 'lora', 0),
  });
  await engine.saveAdapter(id, join(folder, 'adapter_model.safetensors'));
  await engine.close();
  const config = {
    peft_type: 'LORA',
    task_type: 'CAUSAL_LM',
    r: lora.loraRank,
    lora_alpha: lora.loraAlpha,
    lora_dropout: 0,
    target_modules: [...new Set(modules.map(({ name }) => name.split('.').at(-1)!))],
  };
  writeFileSync(join(folder, 'adapter_config.json'), JSON.stringify(config));
  return folder;
}
