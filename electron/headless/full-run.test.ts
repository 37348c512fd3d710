// Training of all parameters, from a configuration to a model that others load, with the real engine.
import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ExportProgress, RunConfigInput } from '../../shared/contract/runs';
import { openLocal, type Local } from './local';
import { firstRows, follow, shortRun, temporaryHome } from './testing';

let home: string;
let local: Local;
beforeAll(async () => {
  home = temporaryHome();
  local = await openLocal({ home, device: 'cpu' });
  for (const dataset of ['sums-worked', 'sums-pairs']) await firstRows(local, home, dataset, 24);
}, 120_000);
afterAll(async () => {
  await local.close();
  rmSync(home, { recursive: true });
});

/** Three steps of each kind of algorithm, with a checkpoint after each. */
const RUNS: Record<string, Partial<RunConfigInput>> = {
  sft: {
    algorithm: 'sft',
    data: { dataset: 'sums-worked-24' },
    rewards: [],
    params: { method: 'full', epochs: 1, batchSize: 8, maxTokens: 64, fullLearningRate: 1e-3 },
  },
  // with its reference, a second copy of the weights
  dpo: {
    algorithm: 'dpo',
    data: { dataset: 'sums-pairs-24' },
    rewards: [],
    params: { method: 'full', batchSize: 8, maxTokens: 64, fullLearningRate: 1e-4, optimizer: 'adafactor' },
  },
  grpo: {
    params: {
      method: 'full',
      steps: 3,
      prompts: 4,
      groupSize: 4,
      maxNewTokens: 48,
      fullLearningRate: 1e-4,
      optimizer: 'muon',
      beta: 0.04,
      recompute: true,
    },
  },
};
/** Of the optimiser's memory, by that of the weights and their copy: f32 masters are the weights themselves. */
const STATES: Record<string, number> = { sft: 2, dpo: 0, grpo: 1 / 2 };
const config = (name: string) => ({ ...shortRun(RUNS[name]), name, checkpointEvery: 1 });

/** Every file of a checkpoint but its manifest, which has nothing of its own. */
function checkpoint(id: string, step: number): Record<string, Buffer> {
  const folder = join(home, 'runs', id, 'checkpoints', `step-${String(step).padStart(8, '0')}`);
  const names = readdirSync(folder).filter((name) => name !== 'manifest.json');
  return Object.fromEntries(names.map((name) => [name, readFileSync(join(folder, name))]));
}

describe.each(Object.keys(RUNS))('all parameters, %s', (name) => {
  let whole: string;

  it('learns and completes, its estimate knowing the copies', async () => {
    const { memory, problems } = await local.client.runs.estimate(config(name));
    expect(problems.filter(({ level }) => level === 'error')).toEqual([]);
    expect(memory.adapter).toBe(0);
    expect(memory.weights).toBeGreaterThan(1e6);
    expect(memory.optimizer / memory.weights).toBeCloseTo(STATES[name]!);
    ({ id: whole } = await local.client.runs.start(config(name)));
    const items = await follow(local, whole);
    expect(items.findLast((item) => item.kind === 'state')).toMatchObject({ status: 'completed' });
    expect(Object.keys(checkpoint(whole, 3)).sort()).toEqual([
      'config.json',
      'model.safetensors',
      'optimizer.safetensors',
      'state.json',
    ]);
    expect(
      checkpoint(whole, 3)['model.safetensors']!.equals(checkpoint(whole, 2)['model.safetensors']!),
    ).toBe(false);
  }, 240_000);

  it('interrupted and resumed, ends byte for byte where it would have ended', async () => {
    const { id } = await local.client.runs.start(config(name));
    await follow(local, id, (item) => item.kind === 'checkpoint' && item.step === 1);
    await local.close();
    local = await openLocal({ home, device: 'cpu' });
    await local.client.runs.resume({ id });
    const items = await follow(local, id);
    expect(items.findLast((item) => item.kind === 'state')).toMatchObject({ status: 'completed' });
    expect(items.some((item) => item.kind === 'event' && item.code === 'resumed')).toBe(true);
    const [resumed, uninterrupted] = [checkpoint(id, 3), checkpoint(whole, 3)];
    for (const [file, bytes] of Object.entries(uninterrupted))
      expect(resumed[file]!.equals(bytes), file).toBe(true);
  }, 240_000);

  it('is exported as a folder that a fresh process loads, and answers in a chat', async () => {
    let last: ExportProgress | undefined;
    for await (const item of local.client.runs.export({ id: whole, as: { kind: 'merged', dtype: 'f32' } }))
      last = item;
    expect(last).toMatchObject({ kind: 'done', verified: true, maxDifferenceLive: 0 });
    const { path } = last as Extract<ExportProgress, { kind: 'done' }>;
    const files = readdirSync(path);
    for (const file of ['model.safetensors', 'config.json', 'tokenizer.json', 'README.md'])
      expect(files).toContain(file);
    // a tied head is the embedding as it was trained: there is no second one
    const header = readFileSync(join(path, 'model.safetensors')).subarray(8).toString('latin1');
    expect(header).toContain('model.embed_tokens.weight');
    expect(header.includes('lm_head.weight')).toBe(false);
    expect(readFileSync(join(path, 'README.md'), 'utf8')).toContain('library_name: transformers');
    const said = async (adapter: { run: string } | null) => {
      let text = '';
      const messages = [{ role: 'user' as const, content: '12+34=' }];
      for await (const item of local.client.chat.say({ model: 'abacus', adapter, messages, temperature: 0 }))
        if (item.kind === 'text') text += item.text;
      return text;
    };
    expect((await said({ run: whole })).length).toBeGreaterThan(0);
    expect((await said(null)).length).toBeGreaterThan(0);
  }, 240_000);
});

it('Muon is refused for an adapter, by its field', async () => {
  const asked = shortRun();
  const { problems } = await local.client.runs.estimate({
    ...asked,
    params: { ...asked.params, optimizer: 'muon' },
  });
  expect(problems).toMatchObject([{ level: 'error', path: 'params.optimizer' }]);
});
