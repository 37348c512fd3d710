/** Mixtures of experts through the engine's door: their adapters' files, and the router's loss. */
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it } from 'vitest';
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
