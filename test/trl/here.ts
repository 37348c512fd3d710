import { mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { draw } from '../../electron/backend/train';
import { ModelText } from '../../electron/backend/text';
import { openLocal, type Local } from '../../electron/headless/local';
import { showRun } from '../../electron/headless/terminal-run';
import { engineModule, type Device } from '../../native';
import type { Outcome, StepCost } from './compare';
import { BASE, LORA, type Recipe } from './recipes';

/** An answer as TRL's side takes it: token ids. */
export interface Sampled {
  prompt: number[];
  completion: number[];
}

export interface Here extends Outcome {
  /** Of GRPO: what was sampled, by step in the order of prompts, and the trained adapter, a PEFT folder. */
  replay: { rollouts: Sampled[][]; adapter: string } | null;
}

/** `replayed`: what it sampled is wanted too. */
export async function runHere(
  device: Device,
  recipe: Recipe,
  seed: number,
  scratch: string,
  replayed: boolean,
): Promise<Here> {
  const home = mkdtempSync(join(scratch, 'home-'));
  const local = await openLocal({ home, device });
  const [curve, gradNorms]: number[][] = [[], []];
  try {
    const { id } = await local.client.runs.start({
      ...recipe.config,
      name: `${recipe.algorithm} ${seed}`,
      seed,
      checkpointEvery: 1000,
    });
    const watched = watch(local, id, recipe);
    const { status, message } = await showRun(local.client, id);
    if (status !== 'completed') throw new Error(`seed ${seed}: the run is ${status}: ${message}`);
    const costs = await watched;
    for await (const row of local.client.runs.follow({ id })) {
      if (row.kind !== 'step' || row.step > recipe.steps) continue;
      curve.push(row.metrics[recipe.metric]!);
      gradNorms.push(row.metrics['train/grad_norm']!);
    }
    return {
      curve,
      gradNorms,
      costs,
      replay: replayed
        ? { rollouts: await rolloutsOf(local, id, recipe.steps), adapter: await exported(local, id) }
        : null,
    };
  } finally {
    await local.close();
  }
}

/** What each step costs, seen while the run goes on: rewards are a process of their own, whose time is not in it. */
async function watch({ client }: Local, id: string, recipe: Recipe): Promise<StepCost[]> {
  const costs: StepCost[] = [];
  let before = process.cpuUsage();
  for await (const row of client.runs.follow({ id })) {
    if (row.kind !== 'step' || row.step > recipe.steps) continue;
    const { user, system } = process.cpuUsage(before);
    before = process.cpuUsage();
    const { metrics } = row;
    const answers = recipe.answers * (metrics['rollout/length'] ?? 0);
    costs.push({
      seconds: metrics['perf/step_seconds']!,
      sampling: recipe.answers > 0 ? answers / metrics['perf/rollout_tokens_per_s']! : 0,
      processor: (user + system) / 1e6,
    });
  }
  return costs.slice(1); // the first step's has the start of the run in it
}

async function rolloutsOf({ client }: Local, id: string, steps: number): Promise<Sampled[][]> {
  const text = await ModelText.fromFolder(BASE);
  const all: Sampled[][] = [];
  for (let step = 1; step <= steps; step++) {
    const { rollouts } = await client.runs.rollouts({ id, step, limit: 200 });
    rollouts.sort((a, b) => a.group - b.group || a.index - b.index);
    all.push(
      await Promise.all(
        rollouts.map(async (rollout): Promise<Sampled> => {
          const prompt = await text.prompt([{ role: 'user', content: rollout.prompt }]);
          const { ids } = await client.runs.tokens({ id, rollout: rollout.id });
          return { prompt: [...prompt.ids], completion: [...ids] };
        }),
      ),
    );
  }
  return all;
}

async function exported({ client }: Local, id: string): Promise<string> {
  for await (const item of client.runs.export({ id })) if (item.kind === 'done') return item.path;
  throw new Error('the export did not end');
}

/** The adapter that the run of a seed begins with, as a PEFT folder. */
export async function firstAdapter(device: Device, seed: number, scratch: string): Promise<string> {
  const folder = mkdtempSync(join(scratch, 'adapter-'));
  const engine = engineModule(device).createEngine({ device });
  const { id: model } = await engine.loadModel(BASE);
  const { id, modules } = await engine.createAdapter(model, {
    rank: LORA.loraRank,
    alpha: LORA.loraAlpha,
    targetModules: 'all-linear',
    seed: draw(seed, 'lora', 0),
  });
  await engine.saveAdapter(id, join(folder, 'adapter_model.safetensors'));
  await engine.close();
  const config = {
    peft_type: 'LORA',
    task_type: 'CAUSAL_LM',
    r: LORA.loraRank,
    lora_alpha: LORA.loraAlpha,
    lora_dropout: 0,
    target_modules: [...new Set(modules.map(({ name }) => name.split('.').at(-1)!))],
  };
  writeFileSync(join(folder, 'adapter_config.json'), JSON.stringify(config));
  return folder;
}
