import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readTensors } from '../conformance/safetensors';
import type { Engine, OptimizerSpec } from './index';
import { adamw, cpuEngine, newLora, pack, rowsOf, sftStep, temporaryFolder, tinyModel } from './testing/tiny';

const folder = temporaryFolder();
const ragged = rowsOf([12, 5, 20, 9]);
let engine: Engine;

beforeAll(() => {
  engine = cpuEngine();
});
afterAll(async () => {
  await engine.close();
  folder.remove();
});

const SPECS: Record<string, OptimizerSpec> = {
  AdamW: { ...adamw },
  'AdamW, 8-bit states': { ...adamw, kind: 'adamw-8bit' },
  Adam: { ...adamw, kind: 'adam' },
  Adafactor: { kind: 'adafactor', weightDecay: 0.01 },
  Muon: { ...adamw, kind: 'muon', momentum: 0.95 },
  SGD: { kind: 'sgd', momentum: 0.9, weightDecay: 0.01 },
};

/** A model of its own and its optimiser. */
async function whole(spec: OptimizerSpec, path = tinyModel, from = engine) {
  const { id: model } = await from.loadModel(path);
  const optimizer = await from.createOptimizer({ kind: 'full', model }, spec);
  return { model, optimizer };
}

/** Writes what a checkpoint of all parameters has. */
async function save(from: Engine, { model, optimizer }: Awaited<ReturnType<typeof whole>>, name: string) {
  const dir = join(folder.path, name);
  mkdirSync(dir, { recursive: true });
  await from.saveModel(model, dir);
  await from.saveOptimizer(optimizer, join(dir, 'optimizer.safetensors'));
  return dir;
}
const bytes = (dir: string) =>
  ['model.safetensors', 'optimizer.safetensors'].map((file) => readFileSync(join(dir, file)));

describe.each(Object.entries(SPECS))('%s', (name, spec) => {
  it('learns all parameters, and goes on from its files bit for bit', async () => {
    const twin = await whole(spec);
    const losses = [];
    for (let k = 0; k < 4; k++)
      losses.push((await engine.step(sftStep(twin.optimizer, ragged, { learningRate: 3e-3 }))).loss);
    expect(losses.at(-1)!).toBeLessThan(losses[0]!);
    const uninterrupted = bytes(await save(engine, twin, `${name} twin`));

    const first = await whole(spec);
    for (let k = 0; k < 2; k++) await engine.step(sftStep(first.optimizer, ragged, { learningRate: 3e-3 }));
    const dir = await save(engine, first, `${name} half`);
    const other = cpuEngine();
    const second = await whole(spec, dir, other);
    await other.loadOptimizer(second.optimizer, join(dir, 'optimizer.safetensors'));
    for (let k = 0; k < 2; k++) await other.step(sftStep(second.optimizer, ragged, { learningRate: 3e-3 }));
    const resumed = bytes(await save(other, second, `${name} resumed`));
    await other.close();
    resumed.forEach((file, k) => expect(file.equals(uninterrupted[k]!)).toBe(true));
    for (const { model, optimizer } of [twin, first]) {
      await engine.freeOptimizer(optimizer);
      await engine.unloadModel(model);
    }
  });

  it('pulls matrices and the head towards 0; norms and embeddings only where that is asked for', async () => {
    for (const decayAll of [false, true]) {
      const { model, optimizer } = await whole({ ...spec, weightDecay: 0.5, decayAll });
      // no rows: no gradient, so that what moves was pulled
      await engine.step(sftStep(optimizer, [], { learningRate: 0.1, inputs: { loss: new Float32Array(0) } }));
      const dir = join(folder.path, `${name} decay ${String(decayAll)}`);
      mkdirSync(dir);
      await engine.saveModel(model, dir);
      await engine.freeOptimizer(optimizer);
      await engine.unloadModel(model);
      const [before, after] = [tinyModel, dir].map((at) => readTensors(join(at, 'model.safetensors')));
      for (const [key, { shape, data }] of Object.entries(before!)) {
        const pulled = decayAll || (shape.length === 2 && !key.includes('embed_tokens'));
        const largest = data.reduce((at, x, k) => (Math.abs(x) > Math.abs(data[at]!) ? k : at), 0);
        const x = data[largest]!;
        // Adam's first update goes by the sign of the gradient, which here is the decay alone
        const closer = spec.kind === 'adam' ? x - 0.1 * Math.sign(x) : 0.95 * x;
        expect(after![key]!.data[largest]! / x, key).toBeCloseTo(pulled ? closer / x : 1, 5);
      }
    }
  });
});

it('Muon is refused for an adapter, and states of another optimiser are refused', async () => {
  const { id: model } = await engine.loadModel(tinyModel);
  const { adapter, optimizer } = await newLora(engine, model);
  await expect(engine.createOptimizer({ kind: 'adapter', adapter }, SPECS['Muon']!)).rejects.toMatchObject({
    code: 'invalid_argument',
  });
  const file = join(folder.path, 'other.safetensors');
  await engine.saveOptimizer(optimizer, file);
  const sgd = await engine.createOptimizer({ kind: 'adapter', adapter }, SPECS['SGD']!);
  await expect(engine.loadOptimizer(sgd, file)).rejects.toMatchObject({
    code: 'invalid_file',
    message: expect.stringContaining("'adamw', not of 'sgd'"),
  });
});

describe('embedding noise', () => {
  const noisy = { alpha: 5, seed: 3 };
  const lossOf = async (more: object) => {
    const { id: model } = await engine.loadModel(tinyModel);
    const { optimizer } = await newLora(engine, model);
    const { loss } = await engine.step(sftStep(optimizer, ragged, more));
    await engine.freeOptimizer(optimizer);
    await engine.unloadModel(model);
    return loss;
  };

  it('is its seed’s alone, whatever the batch is made of, and nothing at alpha 0', async () => {
    const clean = await lossOf({});
    const loss = await lossOf({ embeddingNoise: noisy });
    expect(Math.abs(loss - clean)).toBeGreaterThan(1e-4);
    expect(await lossOf({ embeddingNoise: noisy })).toBe(loss);
    expect(await lossOf({ embeddingNoise: noisy, microTokens: 1 })).toBeCloseTo(loss, 5);
    expect(await lossOf({ embeddingNoise: noisy, packTokens: 40 })).toBeCloseTo(loss, 5);
    expect(await lossOf({ embeddingNoise: { ...noisy, seed: 4 } })).not.toBeCloseTo(loss, 5);
    expect(await lossOf({ embeddingNoise: { ...noisy, alpha: 0 } })).toBeCloseTo(clean, 6);
  });
});

it('recomputed layers take less memory and give the same numbers', async () => {
  const config = JSON.stringify({
    ...(JSON.parse(readFileSync(join(tinyModel, 'config.json'), 'utf8')) as object),
    num_hidden_layers: 12,
    layer_types: undefined,
  });
  const rows = rowsOf([100, 100, 100, 100]);
  const run = async (recompute: boolean) => {
    const { id: model } = await engine.initModel(config, { seed: 1 });
    const optimizer = await engine.createOptimizer({ kind: 'full', model }, SPECS['SGD']!);
    await engine.clearCache();
    const { loss, gradNorm, peakBytes } = await engine.step(sftStep(optimizer, rows, { recompute }));
    const logits = await engine.logits({ model, adapter: null, rows: pack(rows), positions: 'last' });
    await engine.freeOptimizer(optimizer);
    await engine.unloadModel(model);
    return { numbers: { loss, gradNorm, logits }, peakBytes };
  };
  const [kept, again] = [await run(false), await run(true)];
  expect(again.numbers).toEqual(kept.numbers);
  expect(again.peakBytes).toBeLessThan(0.7 * kept.peakBytes);
});
