import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { grpoLoss } from '../shared/algorithms/grpo';
import { engineModule } from './index';
import type { AdapterId, Engine, ModelId, StepRequest } from './index';
import {
  adamw,
  cpuEngine,
  maskFrom,
  newLora,
  pack,
  rowsOf,
  sftStep,
  temporaryFolder,
  tinyModel,
} from './testing/tiny';

let engine: Engine;
let model: ModelId;
const folder = temporaryFolder();

beforeAll(async () => {
  engine = cpuEngine();
  model = (await engine.loadModel(tinyModel)).id;
});
afterAll(async () => {
  await engine.close();
  folder.remove();
});

const ragged = rowsOf([12, 5, 9, 30, 3, 17, 8, 21]);

const plainGrpo = JSON.stringify(
  grpoLoss({
    clipLow: 0.2,
    clipHigh: 0.28,
    normalisation: 'dapo',
    maxNewTokens: 16,
    beta: 0,
    entropyBonus: 0,
  }),
);

async function adapterBytes(adapter: AdapterId): Promise<Buffer> {
  const file = join(folder.path, 'adapter.safetensors');
  await engine.saveAdapter(adapter, file);
  return readFileSync(file);
}

/** Values of a safetensors file of f32 only. */
function floats(file: Buffer): Float32Array {
  const start = 8 + Number(file.readBigUInt64LE(0));
  return new Float32Array(file.buffer.slice(file.byteOffset + start, file.byteOffset + file.length));
}

const largest = (a: Float32Array, b: Float32Array) => Math.max(...a.map((x, i) => Math.abs(x - b[i]!)));

function grpoStep(rows: number[][], more: Record<string, Float32Array>): Omit<StepRequest, 'optimizer'> {
  const loss = maskFrom(rows, 2);
  return {
    rows: pack(rows),
    program: plainGrpo,
    inputs: { loss, meanStepTokens: Float32Array.of(loss.reduce((a, b) => a + b)), ...more },
    temperature: 1,
    learningRate: 1e-3,
    maxGradNorm: null,
    microTokens: 4096,
  };
}

describe('a step', () => {
  it('is the same however its rows are split, ragged or not', async () => {
    for (const rows of [rowsOf(Array.from({ length: 8 }, () => 12)), ragged]) {
      const results = [];
      for (const microTokens of [1, 40, 4096]) {
        // With a large epsilon Adam does not blow rounding up.
        const { adapter, optimizer } = await newLora(engine, model, { epsilon: 1 });
        const step = await engine.step(sftStep(optimizer, rows, { microTokens, learningRate: 1 }));
        results.push({ step, adapter: floats(await adapterBytes(adapter)) });
      }
      const [one, some, all] = results;
      for (const other of [some!, all!]) {
        expect(other.step.loss).toBeCloseTo(one!.step.loss, 5);
        expect(other.step.gradNorm / one!.step.gradNorm).toBeCloseTo(1, 5);
        for (const [name, value] of Object.entries(other.step.metrics))
          expect(value).toBeCloseTo(one!.step.metrics[name]!, 5);
        expect(largest(other.adapter, one!.adapter)).toBeLessThan(1e-6);
      }
    }
  });

  it('is the same whatever the row is padded beside', async () => {
    const alone = await engine.score({ model, adapter: null, rows: pack([ragged[1]!]), entropy: true });
    const beside = await engine.score({ model, adapter: null, rows: pack(ragged), entropy: true });
    const from = ragged[0]!.length - 1;
    expect(largest(alone.logp, beside.logp.slice(from, from + alone.logp.length))).toBeLessThan(1e-5);
    expect(largest(alone.entropy!, beside.entropy!.slice(from, from + alone.logp.length))).toBeLessThan(1e-5);
  });

  it('moves every B, lowers the loss and leaves the base alone', async () => {
    const { adapter, optimizer } = await newLora(engine, model);
    const rows = pack(ragged);
    const base = await engine.logits({ model, adapter: null, rows, positions: 'last' });
    expect((await engine.adapterNorms(adapter)).every((m) => m.maxB === 0 && m.maxA > 0)).toBe(true);
    expect(await engine.logits({ model, adapter, rows, positions: 'last' })).toEqual(base);
    const first = await engine.step(sftStep(optimizer, ragged));
    for (const { name, maxB } of await engine.adapterNorms(adapter)) expect(maxB, name).toBeGreaterThan(0);
    await engine.step(sftStep(optimizer, ragged));
    const third = await engine.step(sftStep(optimizer, ragged));
    expect(third.loss).toBeLessThan(first.loss);
    expect(await engine.logits({ model, adapter: null, rows, positions: 'last' })).toEqual(base);
    expect(await engine.logits({ model, adapter, rows, positions: 'last' })).not.toEqual(base);
  });

  it('with equal rewards has no gradient', async () => {
    const { optimizer } = await newLora(engine, model);
    const samplerLogp = new Float32Array(maskFrom(ragged, 0).length).fill(-3);
    const result = await engine.step({
      optimizer,
      ...grpoStep(ragged, { samplerLogp, advantage: new Float32Array(ragged.length) }),
    });
    expect(result.loss).toBeCloseTo(0, 12);
    expect(result.gradNorm).toBe(0);
  });

  it('leaves a skipped trajectory out of the work and in the counts', async () => {
    const advantage = Float32Array.from(ragged, (_, i) => (i < 4 ? i - 1.5 : 0));
    const loss = maskFrom(ragged, 2);
    const samplerLogp = (await engine.score({ model, adapter: null, rows: pack(ragged) })).logp;
    const program = JSON.stringify(
      grpoLoss({
        clipLow: 0.2,
        clipHigh: 0.28,
        normalisation: 'grpo',
        maxNewTokens: 16,
        beta: 0,
        entropyBonus: 0,
      }),
    );
    const request = { ...grpoStep(ragged, {}), program, inputs: { loss, samplerLogp, advantage } };
    const whole = await engine.step({ ...request, optimizer: (await newLora(engine, model)).optimizer });
    const skip = Uint8Array.from(ragged, (_, i) => (i < 4 ? 0 : 1));
    const part = await engine.step({ ...request, skip, optimizer: (await newLora(engine, model)).optimizer });
    expect(part.tokens).toBeLessThan(whole.tokens);
    expect(part.loss).toBeCloseTo(whole.loss, 6);
    expect(part.gradNorm / whole.gradNorm).toBeCloseTo(1, 5);
    const none = await engine.step({
      ...request,
      skip: new Uint8Array(ragged.length).fill(1),
      optimizer: (await newLora(engine, model)).optimizer,
    });
    expect(none).toMatchObject({ loss: 0, gradNorm: 0, tokens: 0, updated: true });
  });

  it('never sees numbers outside its mask', async () => {
    const loss = maskFrom(ragged, 2);
    const clean = new Float32Array(loss.length).fill(-3);
    const garbage = clean.map((x, i) => (loss[i] ? x : NaN));
    const advantage = Float32Array.from(ragged, (_, i) => i - 3);
    const run = async (samplerLogp: Float32Array) => {
      const { adapter, optimizer } = await newLora(engine, model);
      const result = await engine.step({ optimizer, ...grpoStep(ragged, { samplerLogp, advantage }) });
      return {
        ...result,
        seconds: 0,
        peakBytes: 0,
        gradientPeakBytes: 0,
        adapter: floats(await adapterBytes(adapter)),
      };
    };
    expect(await run(garbage)).toEqual(await run(clean));
  });

  it('that is not finite changes nothing', async () => {
    const { adapter, optimizer } = await newLora(engine, model);
    const before = await adapterBytes(adapter);
    const samplerLogp = new Float32Array(maskFrom(ragged, 0).length).fill(-3);
    const advantage = new Float32Array(ragged.length).fill(Infinity);
    const result = await engine.step({ optimizer, ...grpoStep(ragged, { samplerLogp, advantage }) });
    expect(result.updated).toBe(false);
    expect(await adapterBytes(adapter)).toEqual(before);
    expect((await engine.step(sftStep(optimizer, ragged))).updated).toBe(true);
  });
});

it("the trainer's log-probabilities are the sampler's", async () => {
  const { adapter, optimizer } = await newLora(engine, model);
  await engine.step(sftStep(optimizer, ragged, { learningRate: 1e-2 }));
  const temperature = 0.8;
  const prompts = ragged.map((row) => Int32Array.from(row.slice(0, 5)));
  const { rows } = await engine.generate({
    model,
    adapter,
    prompts,
    samplesPerPrompt: 2,
    maxNewTokens: 12,
    temperature,
    stopIds: Int32Array.of(7, 11, 30, 200),
    seed: 5,
  });
  const full = rows.map((row) => [...prompts[row.prompt]!, ...row.ids]);
  const inside = full.flatMap((row, i) =>
    row.slice(1).map((_, t) => t + 1 >= prompts[rows[i]!.prompt]!.length),
  );
  const at = (values: Float32Array) => values.filter((_, i) => inside[i]);
  const trainer = await engine.score({ model, adapter, rows: pack(full), temperature });
  const sampler = Float32Array.from(rows.flatMap((row) => [...row.logprob]));
  expect(largest(at(trainer.logp), sampler)).toBeLessThan(1e-4);
  const raw = await engine.score({ model, adapter, rows: pack(full) });
  expect(largest(at(raw.logp), Float32Array.from(rows.flatMap((row) => [...row.rawLogprob])))).toBeLessThan(
    1e-4,
  );

  let next = 0;
  const samplerLogp = Float32Array.from(inside, (yes) => (yes ? sampler[next++]! : NaN));
  const loss = Float32Array.from(inside, Number);
  const step = await engine.step({
    ...grpoStep(full, { samplerLogp, advantage: Float32Array.from(full, (_, i) => (i % 2 ? 1 : -1)), loss }),
    optimizer,
    temperature,
  });
  expect(step.metrics['policy/sampler_mismatch']).toBeLessThan(2e-5);
  expect(step.metrics['policy/ratio']).toBeCloseTo(1, 5);
});

describe('resuming', () => {
  const adapterConfig = {
    peft_type: 'LORA',
    r: 4,
    lora_alpha: 8,
    target_modules: 'all-linear',
    bias: 'none',
    task_type: 'CAUSAL_LM',
  };

  /** Two steps, everything through files into another engine, one more step; with `forget`, fresh moments. */
  async function resumed(forget: boolean): Promise<Buffer> {
    const { mkdirSync, writeFileSync } = await import('node:fs');
    const dir = join(folder.path, forget ? 'forgetful' : 'checkpoint');
    mkdirSync(dir);
    const { adapter, optimizer } = await newLora(engine, model);
    for (let k = 0; k < 2; k++) await engine.step(sftStep(optimizer, ragged));
    await engine.saveAdapter(adapter, join(dir, 'adapter_model.safetensors'));
    writeFileSync(join(dir, 'adapter_config.json'), JSON.stringify(adapterConfig));
    await engine.saveOptimizer(optimizer, join(dir, 'optimizer.safetensors'));

    const other = cpuEngine();
    const m = (await other.loadModel(tinyModel)).id;
    const a = (await other.loadAdapter(m, dir)).id;
    const o = await other.createOptimizer({ kind: 'adapter', adapter: a }, adamw);
    if (!forget) await other.loadOptimizer(o, join(dir, 'optimizer.safetensors'));
    await other.step(sftStep(o, ragged));
    const file = join(dir, 'after.safetensors');
    await other.saveAdapter(a, file);
    await other.close();
    return readFileSync(file);
  }

  it('ends bit for bit where an uninterrupted run ends, and not without the moments', async () => {
    const { adapter, optimizer } = await newLora(engine, model);
    for (let k = 0; k < 3; k++) await engine.step(sftStep(optimizer, ragged));
    const uninterrupted = await adapterBytes(adapter);
    expect(await resumed(false)).toEqual(uninterrupted);
    expect(await resumed(true)).not.toEqual(uninterrupted);
  });

  it('refuses the moments of something else', async () => {
    const { optimizer } = await newLora(engine, model);
    const wrong = join(tinyModel, 'model.safetensors');
    await expect(engine.loadOptimizer(optimizer, wrong)).rejects.toMatchObject({ code: 'invalid_file' });
  });
});

it('runs on the twins of the kernels where that is asked for, beside an engine on the kernels', async () => {
  const plain = engineModule('cpu').createEngine({ device: 'cpu', plainOps: true });
  const request = { adapter: null, rows: pack(ragged) };
  const twin = await plain.score({ ...request, model: (await plain.loadModel(tinyModel)).id });
  const kernels = await engine.score({ ...request, model });
  await plain.close();
  expect(largest(twin.logp, kernels.logp)).toBeLessThan(1e-4);
  expect(twin.logp).not.toEqual(kernels.logp); // sums in another order
});

describe('an input that cannot be right is refused', () => {
  const odd = { name: 'odd', shape: 'S', kind: 'number', from: 'data' };
  const program = JSON.parse(sftStep(0 as never, ragged).program) as { inputs: object[] };
  const unread = JSON.stringify({ ...program, inputs: [...program.inputs, odd] });
  const invalid = (message: RegExp) => ({
    code: 'invalid_argument',
    message: expect.stringMatching(message) as string,
  });

  it('of the wrong length, though no node reads it', async () => {
    const { optimizer } = await newLora(engine, model);
    const step = sftStep(optimizer, ragged, { program: unread });
    const withOdd = (n: number) => ({ ...step, inputs: { ...step.inputs, odd: new Float32Array(n) } });
    await expect(engine.step(withOdd(2))).rejects.toMatchObject(invalid(/inputs\.odd .*2 entries, needs 8/));
    expect((await engine.step(withOdd(8))).updated).toBe(true);
  });

  it('to differentiate by a mask or a scalar', async () => {
    const targets = Int32Array.from(ragged, (r) => r.length - 1);
    const numbers = new Float32Array(targets.reduce((a, b) => a + b)).fill(-1);
    const { inputs } = sftStep(0 as never, ragged);
    const request = {
      program: JSON.stringify(program),
      targets,
      inputs: { ...inputs, logp: numbers, entropy: numbers },
    };
    await expect(engine.evaluateProgram({ ...request, gradients: ['loss'] })).rejects.toMatchObject(
      invalid(/gradients: 'loss'/),
    );
    expect((await engine.evaluateProgram({ ...request, gradients: ['logp'] })).loss).toBeCloseTo(1, 6);
  });

  it('a fraction of a layer', async () => {
    const spec = { rank: 4, alpha: 8, targetModules: ['q_proj'], layersToTransform: [0.5], seed: 1 };
    await expect(engine.createAdapter(model, spec)).rejects.toMatchObject(
      invalid(/layersToTransform.*whole/),
    );
  });
});

it('trains every parameter of a new model, tied head and all, and saves it', async () => {
  const config = readFileSync(join(tinyModel, 'config.json'), 'utf8');
  const { id, parameters } = await engine.initModel(config, { seed: 3 });
  const twin = await engine.initModel(config, { seed: 3 });
  const rows = pack(ragged);
  const start = await engine.logits({ model: id, adapter: null, rows, positions: 'all' });
  expect(await engine.logits({ model: twin.id, adapter: null, rows, positions: 'all' })).toEqual(start);
  await engine.unloadModel(twin.id);

  const optimizer = await engine.createOptimizer({ kind: 'full', model: id }, adamw);
  const losses = [];
  for (let k = 0; k < 10; k++)
    losses.push((await engine.step(sftStep(optimizer, ragged, { maxGradNorm: 1 }))).loss);
  expect(losses[0]).toBeCloseTo(Math.log(512), 1);
  expect(losses.at(-1)!).toBeLessThan(losses[0]! - 0.5);

  const dir = join(folder.path, 'saved');
  (await import('node:fs')).mkdirSync(dir);
  await engine.saveModel(id, dir);
  const again = await engine.loadModel(dir);
  expect(again.parameters).toBe(parameters);
  const trained = await engine.logits({ model: id, adapter: null, rows, positions: 'all' });
  expect(await engine.logits({ model: again.id, adapter: null, rows, positions: 'all' })).toEqual(trained);
  expect(largest(trained, start)).toBeGreaterThan(0.1);
});
