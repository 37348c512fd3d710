/** Mixtures of experts through the engine's door: their adapters' files, the router's loss, and what is not for them. */
import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { renameTensors } from '../conformance/safetensors';
import { sftLoss } from '../shared/algorithms/sft';
import { engineModule, type Engine, type OptimizerId, type StepRequest } from './index';
import { adamw, cpuEngine, pack, rowsOf, temporaryFolder, tinyModel } from './testing/tiny';

const fixture = (name: string) => fileURLToPath(new URL(`../conformance/fixtures/${name}`, import.meta.url));

let engine: Engine;
beforeAll(() => {
  engine = cpuEngine();
});
afterAll(() => engine.close());

// Ids below the smaller model's vocabulary.
const rows = rowsOf([9, 4, 7, 5]).map((row) => row.map((id) => id % 380));
const targets = rows.reduce((n, row) => n + row.length - 1, 0);
const step = (optimizer: OptimizerId, change: Partial<StepRequest> = {}): StepRequest => ({
  optimizer,
  rows: pack(rows),
  program: JSON.stringify(sftLoss({ routerAuxCoef: 0.1 })),
  inputs: { loss: new Float32Array(targets).fill(1) },
  temperature: 1,
  learningRate: 0,
  maxGradNorm: null,
  microTokens: 8192,
  ...change,
});

it("gives the router's loss of the whole step, however it is split", async () => {
  const { id: model } = await engine.loadModel(fixture('models/qwen3_moe'));
  const spec = { rank: 4, alpha: 8, targetModules: ['q_proj', 'up_proj', 'down_proj'], seed: 1 };
  const { id: adapter } = await engine.createAdapter(model, spec);
  const optimizer = await engine.createOptimizer({ kind: 'adapter', adapter }, adamw);
  const whole = await engine.step(step(optimizer));
  // Two experts a token: 2 where all are equally busy.
  expect(whole.metrics['train/router_aux']).toBeGreaterThan(1.9);
  const split = await engine.step(step(optimizer, { microTokens: 8 }));
  expect(split.loss).toBeCloseTo(whole.loss, 5);
  expect(split.gradNorm).toBeCloseTo(whole.gradNorm, 4);
  const skip = step(optimizer, { skip: Uint8Array.from([1, 0, 0, 0]) });
  await expect(engine.step(skip)).rejects.toThrow('none can be left out');
});

it("refuses a router's loss for a model without experts", async () => {
  const { id: model } = await engine.loadModel(tinyModel);
  const spec = { rank: 4, alpha: 8, targetModules: 'all-linear', seed: 1 };
  const { id: adapter } = await engine.createAdapter(model, spec);
  const optimizer = await engine.createOptimizer({ kind: 'adapter', adapter }, adamw);
  await expect(engine.step(step(optimizer))).rejects.toThrow('the model has none');
});

it('refuses an adapter on some experts of a layer, and saves one on all by their names', async () => {
  const { id: model } = await engine.loadModel(fixture('models/qwen3_moe'));
  const some = { rank: 4, alpha: 8, targetModules: '.*experts\\.0\\.up_proj', seed: 1 };
  await expect(engine.createAdapter(model, some)).rejects.toThrow("some of a layer's experts");
  const { id, modules } = await engine.createAdapter(model, { ...some, targetModules: ['up_proj'] });
  expect(modules.map((m) => m.name)).toEqual([0, 1].map((i) => `model.layers.${i}.mlp.experts.*.up_proj`));
  const { path, remove } = temporaryFolder();
  const file = join(path, 'adapter_model.safetensors');
  await engine.saveAdapter(id, file);
  const names = Object.keys(engineModule('cpu').readSafetensorsHeader(file));
  remove();
  expect(names).toHaveLength(2 * 2 * 4);
  expect(names).toContain('base_model.model.model.layers.1.mlp.experts.3.up_proj.lora_B.weight');
});

describe('experts', () => {
  it('are not quantised, neither on loading nor as they are stored, and have no DoRA', async () => {
    const quantize = { bits: 4, groupSize: 32 };
    await expect(engine.loadModel(fixture('models/qwen3_moe'), { quantize })).rejects.toMatchObject({
      code: 'unsupported_model',
      message: expect.stringContaining('mixture of experts'),
    });
    const { path, remove } = temporaryFolder();
    cpSync(fixture('models/qwen3_moe_nonorm'), path, { recursive: true });
    const config = JSON.parse(readFileSync(join(path, 'config.json'), 'utf8')) as object;
    writeFileSync(
      join(path, 'config.json'),
      JSON.stringify({ ...config, quantization: { bits: 4, group_size: 32 } }),
    );
    const expert = 'model.layers.1.mlp.experts.0.up_proj';
    renameTensors(join(path, 'model.safetensors'), (name) =>
      name === `${expert}.weight` ? `${expert}.scales` : name,
    );
    expect(() => engineModule('cpu').checkModel(path)).toThrow(
      expect.objectContaining({
        code: 'unsupported_model',
        message: expect.stringContaining(`quantised experts ('${expert}')`),
      }),
    );
    remove();
    const { id: model } = await engine.loadModel(fixture('models/qwen3_moe'));
    const dora = { rank: 4, alpha: 8, targetModules: ['up_proj'], dora: true, seed: 1 };
    await expect(engine.createAdapter(model, dora)).rejects.toThrow('DoRA on experts');
  });

  it('are told before anything is loaded, and so are rows that cannot be packed', () => {
    const factsOf = (name: string) => engineModule('cpu').checkModel(fixture(`models/${name}`));
    expect(factsOf('qwen3_moe')).toMatchObject({ mixture: true, softmaxRouters: true, packs: true });
    expect(factsOf('bailing_moe_v3')).toMatchObject({ mixture: true, softmaxRouters: false });
    expect(factsOf('qwen3_5_moe')).toMatchObject({ mixture: true, packs: false });
    expect(factsOf('qwen3_tied')).toMatchObject({ mixture: false, packs: true });
  });

  it.each(['qwen3_5', 'bailing_moe_v3'])(
    'rows with a state go alone where they are packed: %s',
    async (name) => {
      const { id: model } = await engine.loadModel(fixture(`models/${name}`));
      const spec = { rank: 4, alpha: 8, targetModules: 'all-linear', seed: 1 };
      const { id: adapter } = await engine.createAdapter(model, spec);
      const optimizer = await engine.createOptimizer({ kind: 'adapter', adapter }, adamw);
      const asked = { ...step(optimizer), program: JSON.stringify(sftLoss()) };
      const [alone, packed] = [await engine.step(asked), await engine.step({ ...asked, packTokens: 64 })];
      expect(packed.loss).toBeCloseTo(alone.loss, 5);
      expect(packed.gradNorm / alone.gradNorm).toBeCloseTo(1, 4);
    },
  );
});
