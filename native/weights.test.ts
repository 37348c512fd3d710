import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { AdapterId, Engine, LoraSpec, ModelId } from './index';
import { adamw, cpuEngine, pack, rowsOf, sftStep, temporaryFolder, tinyModel } from './testing/tiny';

let engine: Engine;
let model: ModelId;
const folder = temporaryFolder();
const rows = rowsOf([9, 6, 12]);
const lora: LoraSpec = { rank: 4, alpha: 8, targetModules: 'all-linear', seed: 5 };

beforeAll(async () => {
  engine = cpuEngine();
  model = (await engine.loadModel(tinyModel)).id;
});
afterAll(async () => {
  await engine.close();
  folder.remove();
});

/** A few steps; the first and the last loss. */
async function trained(
  base: ModelId,
  spec: Partial<LoraSpec> = {},
): Promise<{ id: AdapterId; losses: number[] }> {
  const { id } = await engine.createAdapter(base, { ...lora, ...spec });
  const optimizer = await engine.createOptimizer({ kind: 'adapter', adapter: id }, adamw);
  const losses: number[] = [];
  for (let k = 0; k < 6; k++) {
    const { loss, updated } = await engine.step(sftStep(optimizer, rows, { learningRate: 1e-2 }));
    expect(updated).toBe(true);
    losses.push(loss);
  }
  await engine.freeOptimizer(optimizer);
  return { id, losses };
}

const lastLogits = (base: ModelId, adapter: AdapterId | null) =>
  engine.logits({ model: base, adapter, rows: pack(rows), positions: 'last' });

/** An adapter's PEFT folder. */
async function saved(id: AdapterId, name: string, more: object = {}): Promise<string> {
  const dir = join(folder.path, name);
  mkdirSync(dir);
  await engine.saveAdapter(id, join(dir, 'adapter_model.safetensors'));
  const config = { peft_type: 'LORA', r: 4, lora_alpha: 8, target_modules: 'all-linear', ...more };
  writeFileSync(join(dir, 'adapter_config.json'), JSON.stringify(config));
  return dir;
}

const furthest = (a: Float32Array, b: Float32Array) =>
  a.reduce((most, value, k) => Math.max(most, Math.abs(value - b[k]!)), 0);

describe('a quantised base', () => {
  it('takes the room of its bits and is a base for adapters, not for full training', async () => {
    const whole = await engine.loadModel(tinyModel);
    const quantised = await engine.loadModel(tinyModel, { quantize: { bits: 4 } });
    expect(quantised.quantization).toEqual({ bits: 4, groupSize: 64 });
    expect(whole.quantization).toBeUndefined();
    expect(quantised.parameters).toBe(whole.parameters);
    expect(quantised.weightBytes).toBeLessThan(whole.weightBytes / 5);
    await expect(engine.createOptimizer({ kind: 'full', model: quantised.id }, adamw)).rejects.toMatchObject({
      code: 'invalid_argument',
      message: expect.stringContaining('quantised'),
    });
    const { id, losses } = await trained(quantised.id);
    expect(losses.at(-1)!).toBeLessThan(losses[0]! - 0.1);
    const dir = await saved(id, 'qlora');
    const again = await engine.loadAdapter(quantised.id, dir);
    expect(await lastLogits(quantised.id, again.id)).toEqual(await lastLogits(quantised.id, id));
    await engine.unloadModel(quantised.id);
    await engine.unloadModel(whole.id);
  });

  it.each([
    [{ bits: 7 }, 'quantize.bits is 7'],
    [{ bits: 4, groupSize: 16 }, 'quantize.groupSize is 16'],
    [{ bits: 4, groupSize: 128 }, 'groups of 128'],
    [{ bits: '4' }, 'bits must be a number'],
  ])('%j is refused by name', async (quantize, reason) => {
    await expect(engine.loadModel(tinyModel, { quantize: quantize as never })).rejects.toThrow(reason);
  });
});

describe('several adapters of one model', () => {
  it('are chosen per request and do not mix', async () => {
    const one = await trained(model, { seed: 1 });
    const two = await trained(model, { seed: 2, dora: true });
    const apart = [
      await lastLogits(model, null),
      await lastLogits(model, one.id),
      await lastLogits(model, two.id),
    ];
    const together = await Promise.all([null, one.id, two.id].map((id) => lastLogits(model, id)));
    expect(together).toEqual(apart);
    expect(furthest(apart[1]!, apart[2]!)).toBeGreaterThan(1e-2);
    expect(furthest(apart[0]!, apart[1]!)).toBeGreaterThan(1e-2);
    await engine.unloadAdapter(one.id);
    await engine.unloadAdapter(two.id);
  });
});

describe('modules that are trained whole', () => {
  it('a tied head is trained apart from the embedding, saved, and served as trained', async () => {
    const { id, losses } = await trained(model, { modulesToSave: ['lm_head'] });
    expect(losses.at(-1)!).toBeLessThan(losses[0]! - 0.1);
    const dir = await saved(id, 'head', { modules_to_save: ['lm_head'] });
    const again = await engine.loadAdapter(model, dir);
    expect(again.saved).toEqual(['lm_head']);
    expect(await lastLogits(model, again.id)).toEqual(await lastLogits(model, id));
    // merged, it stays a head of its own
    const to = join(folder.path, 'merged');
    mkdirSync(to);
    await engine.exportModel({
      base: tinyModel,
      adapter: dir,
      to,
      as: { kind: 'safetensors', dtype: 'f32' },
    });
    const config = JSON.parse(readFileSync(join(to, 'config.json'), 'utf8')) as Record<string, unknown>;
    expect(config['tie_word_embeddings']).toBe(false);
    const merged = await engine.loadModel(to);
    expect(furthest(await lastLogits(merged.id, null), await lastLogits(model, id))).toBeLessThan(1e-4);
    await engine.unloadModel(merged.id);
    await engine.unloadAdapter(id);
  });

  it('others than embedding and head are refused before anything is loaded', async () => {
    await expect(engine.createAdapter(model, { ...lora, modulesToSave: ['score'] })).rejects.toThrow('score');
    const dir = join(folder.path, 'odd');
    cpSync(join(folder.path, 'head'), dir, { recursive: true });
    writeFileSync(join(dir, 'adapter_model.safetensors'), 'not a file of tensors');
    const config = JSON.parse(readFileSync(join(dir, 'adapter_config.json'), 'utf8')) as object;
    for (const [key, value] of Object.entries({
      bias: 'all',
      lora_bias: true,
      fan_in_fan_out: true,
      alora_invocation_tokens: [1],
      layer_replication: [[0, 1]],
      trainable_token_indices: [1],
      use_qalora: true,
      exclude_modules: ['q_proj'],
    })) {
      writeFileSync(join(dir, 'adapter_config.json'), JSON.stringify({ ...config, [key]: value }));
      await expect(engine.loadAdapter(model, dir), key).rejects.toMatchObject({ code: 'unsupported_model' });
    }
  });
});

describe('an export', () => {
  it('in MLX 4-bit is a model like any other, and cannot be quantised again', async () => {
    const to = join(folder.path, 'mlx');
    mkdirSync(to);
    await engine.exportModel({
      base: tinyModel,
      adapter: null,
      to,
      as: { kind: 'mlx', quantize: { bits: 4 } },
    });
    const loaded = await engine.loadModel(to);
    expect(loaded.quantization).toEqual({ bits: 4, groupSize: 64 });
    await expect(engine.loadModel(to, { quantize: { bits: 8 } })).rejects.toThrow('quantised already');
    await engine.unloadModel(loaded.id);
  });

  it.each([
    [{ kind: 'onnx' }, "kind is 'onnx'"],
    [{ kind: 'gguf', type: 'Q4_K', metadata: {} }, "type is 'Q4_K'"],
    [{ kind: 'safetensors', dtype: 'f64' }, "dtype is 'f64'"],
    [{ kind: 'gguf', type: 'F16', metadata: { a: -1 } }, 'a is -1'],
  ])('as %j is refused', async (as, reason) => {
    await expect(
      engine.exportModel({ base: tinyModel, adapter: null, to: folder.path, as: as as never }),
    ).rejects.toThrow(reason);
  });
});
