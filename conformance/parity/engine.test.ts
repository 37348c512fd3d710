// Cases 9, 18, 19 and 20 of the README's table: the engine. What needs given logits or gradients stands in native/src.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { GenerateRequest, ModelId, OptimizerId } from '../../native';
import { lossTokens } from '../../electron/backend/train/batch';
import { sftLoss } from '../../shared/algorithms/sft';
import { evaluateProgram, ProgramBuilder } from '../../shared/program';
import { Context } from '../context';
import { toRows } from '../items/rows';
import { readTensors } from '../safetensors';

const ctx = new Context(fileURLToPath(new URL('../fixtures', import.meta.url)), 'cpu');
afterAll(() => ctx.close());
let model: ModelId;
beforeAll(async () => {
  model = (await ctx.load(ctx.path('models/qwen3_tied'))).id;
});

const prompt = [11, 42, 7];
const generate = (more: Partial<GenerateRequest>) =>
  ctx.engine.generate({
    model,
    adapter: null,
    prompts: [Int32Array.from(prompt)],
    samplesPerPrompt: 1,
    maxNewTokens: 4,
    temperature: 0,
    stopIds: new Int32Array(),
    seed: 1,
    ...more,
  });
/** The likeliest first tokens, best first. */
async function likeliest(count: number): Promise<number[]> {
  const logits = await ctx.engine.logits({ model, adapter: null, rows: toRows([prompt]), positions: 'last' });
  return Array.from(logits.keys())
    .sort((a, b) => logits[b]! - logits[a]!)
    .slice(0, count);
}

describe('9: targets and means', () => {
  it('of shifted masks are counted over all rows, and a mean is by what was counted', () => {
    const row = (loss: number[]) => ({
      ids: new Int32Array(loss.length + 1),
      group: 0,
      use: 'train' as const,
      loss: Uint8Array.from(loss),
      values: {},
    });
    // prompt_mask TTFF of four tokens, and loss_mask FFTFT of five after a prompt of one
    expect(lossTokens([row([0, 1, 1]), row([0, 1, 0, 1])])).toBe(4);
    const p = new ProgramBuilder();
    const loss = p.mask('loss', 'T');
    const value = p.data('value', 'T', loss);
    p.loss('none', value.times(0), loss.count());
    p.mean('mean', value, loss);
    const { metrics } = evaluateProgram(p.build(), {
      targets: [2, 8],
      inputs: { loss: Array(10).fill(1), value: [0.1, 0.1, ...Array<number>(8).fill(0.01)] },
    });
    expect(metrics['mean']).toBeCloseTo(0.028, 12);
  });

  it('a step is the same however many parts it is made in', async () => {
    const step = async (microTokens: number) => {
      const { id: adapter } = await ctx.engine.loadAdapter(model, ctx.path('lora/qwen3_tied/all'));
      const optimizer = await ctx.engine.createOptimizer(
        { kind: 'adapter', adapter },
        { kind: 'sgd', momentum: 0, weightDecay: 0 },
      );
      const rows = [3, 9, 4, 6, 5].map((n, row) => Array.from({ length: n }, (_, t) => (7 * row + t) % 500));
      const loss = new Float32Array(rows.reduce((sum, ids) => sum + ids.length - 1, 0)).fill(1);
      const result = await ctx.engine.step({
        optimizer,
        rows: toRows(rows),
        program: JSON.stringify(sftLoss()),
        inputs: { loss },
        temperature: 1,
        learningRate: 0,
        maxGradNorm: null,
        microTokens,
      });
      await ctx.engine.freeOptimizer(optimizer);
      await ctx.engine.unloadAdapter(adapter);
      return result;
    };
    const [whole, some, each] = [await step(4096), await step(16), await step(1)];
    for (const parts of [some, each]) {
      expect(parts.loss).toBeCloseTo(whole.loss, 5);
      expect(parts.gradNorm / whole.gradNorm).toBeCloseTo(1, 4);
    }
  });
});

describe('18: sampling', () => {
  it('greedy passes over what is suppressed, and over a stop id before the least length', async () => {
    const [best, second, third] = await likeliest(3);
    const { rows } = await generate({
      suppressIds: Int32Array.of(best!),
      stopIds: Int32Array.of(second!),
      minNewTokens: 1,
      maxNewTokens: 1,
    });
    expect([...rows[0]!.ids]).toEqual([third]);
  });

  it('a seed repeats itself, and top-k stays among the k', async () => {
    const among = await likeliest(2);
    const asked = { temperature: 1.5, topK: 2, samplesPerPrompt: 64, maxNewTokens: 1 };
    const [first, again] = [await generate(asked), await generate(asked)];
    const drawn = first.rows.map(({ ids }) => ids[0]!);
    expect(again.rows.map(({ ids }) => ids[0])).toEqual(drawn);
    expect(new Set(drawn)).toEqual(new Set(among));
  });

  it('a row ends with the stop id that ended it, so that it is learnt; AReno drops it on Apple silicon', async () => {
    const free = await generate({ maxNewTokens: 8 });
    const ids = [...free.rows[0]!.ids];
    const at = ids.findIndex((id, k) => k > 0 && !ids.slice(0, k).includes(id));
    const { rows } = await generate({ maxNewTokens: 8, stopIds: Int32Array.of(ids[at]!) });
    expect([...rows[0]!.ids]).toEqual(ids.slice(0, at + 1));
    expect(rows[0]!.finish).toBe('stop');
    expect((await generate({ maxNewTokens: 2 })).rows[0]!.finish).toBe('length');
  });
});

describe('19: adapters', () => {
  it('keys are PEFT’s, a reload gives the same numbers, and training leaves the base as it is', async () => {
    const base = () => ctx.engine.logits({ model, adapter: null, rows: toRows([prompt]), positions: 'all' });
    const before = await base();
    const from = ctx.path('lora/qwen3_tied/all');
    const { id: adapter } = await ctx.engine.loadAdapter(model, from);
    const optimizer: OptimizerId = await ctx.engine.createOptimizer(
      { kind: 'adapter', adapter },
      { kind: 'adamw', beta1: 0.9, beta2: 0.999, epsilon: 1e-8, weightDecay: 0.01 },
    );
    await ctx.engine.step({
      optimizer,
      rows: toRows([[1, 2, 3, 4]]),
      program: JSON.stringify(sftLoss()),
      inputs: { loss: Float32Array.of(1, 1, 1) },
      temperature: 1,
      learningRate: 1e-2,
      maxGradNorm: null,
      microTokens: 64,
    });
    expect(await base()).toEqual(before);
    const dir = join(ctx.temporary, 'reload');
    mkdirSync(dir);
    const config = readFileSync(join(from, 'adapter_config.json'));
    writeFileSync(join(dir, 'adapter_config.json'), config);
    await ctx.engine.saveAdapter(adapter, join(dir, 'adapter_model.safetensors'));
    const names = (folder: string) =>
      Object.keys(readTensors(join(folder, 'adapter_model.safetensors'))).sort();
    expect(names(dir)).toEqual(names(from));
    const { id: again } = await ctx.engine.loadAdapter(model, dir);
    const taught = (id: typeof adapter) =>
      ctx.engine.logits({ model, adapter: id, rows: toRows([prompt]), positions: 'all' });
    expect(await taught(again)).toEqual(await taught(adapter));
    expect(await taught(again)).not.toEqual(before);
  });

  it.each([
    ['bias', 'all'],
    ['lora_bias', true],
    ['fan_in_fan_out', true],
    ['layer_replication', [[0, 1]]],
    ['use_qalora', true],
    ['trainable_token_indices', [1]],
    ['alora_invocation_tokens', [1]],
    ['exclude_modules', ['q_proj']],
  ])('an option that is not run is refused by its name: %s', async (key, value) => {
    const dir = join(ctx.temporary, key);
    mkdirSync(dir);
    const from = ctx.path('lora/qwen3_tied/qv');
    const config = JSON.parse(readFileSync(join(from, 'adapter_config.json'), 'utf8')) as object;
    writeFileSync(join(dir, 'adapter_config.json'), JSON.stringify({ ...config, [key]: value }));
    writeFileSync(
      join(dir, 'adapter_model.safetensors'),
      readFileSync(join(from, 'adapter_model.safetensors')),
    );
    await expect(ctx.engine.loadAdapter(model, dir)).rejects.toMatchObject({
      code: 'unsupported_model',
      message: expect.stringContaining(key),
    });
  });
});

it('20: rows of three and two tokens have three scores: the first token of each has none', async () => {
  const rows = toRows([
    [1, 2, 3],
    [4, 5],
  ]);
  const { logp } = await ctx.engine.score({ model, adapter: null, rows });
  expect(logp).toHaveLength(3);
});
