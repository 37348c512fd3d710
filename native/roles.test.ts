/** What more than one model role needs of the engine: scalar heads, and divergences from a teacher. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ProgramBuilder } from '../shared/program';
import type { AdapterId, Engine, ModelId, OptimizerId, StepRequest } from './index';
import { adamw, cpuEngine, newLora, pack, rowsOf, sftStep, temporaryFolder, tinyModel } from './testing/tiny';

let engine: Engine;
beforeAll(() => {
  engine = cpuEngine();
});
afterAll(() => engine.close());

describe('a scalar head', () => {
  /** Mean squared error of value (at every target) or score (of the whole row) from given numbers. */
  const regression = (quantity: 'value' | 'score') => {
    const p = new ProgramBuilder();
    const got = p.engine(quantity);
    p.loss('error', got.minus(p.data('wanted', got.shape)).square(), 1);
    p.mean('mean', got);
    return JSON.stringify(p.build());
  };
  const rows = rowsOf([5, 9, 3]);
  const step = (optimizer: OptimizerId, quantity: 'value' | 'score', wanted: number[]): StepRequest => ({
    optimizer,
    rows: pack(rows),
    program: regression(quantity),
    inputs: { wanted: Float32Array.from(wanted) },
    temperature: 1,
    learningRate: 1e-2,
    maxGradNorm: null,
    microTokens: 8192,
  });
  const critic = async () => {
    const { id: model } = await engine.loadModel(tinyModel);
    const spec = { rank: 4, alpha: 8, targetModules: 'all-linear', seed: 1, scalarHead: true } as const;
    const { id: adapter, scalarHead } = await engine.createAdapter(model, spec);
    expect(scalarHead).toBe(true);
    const optimizer = await engine.createOptimizer({ kind: 'adapter', adapter }, adamw);
    return { model, adapter, optimizer };
  };
  const read = async (model: ModelId, adapter: AdapterId) => {
    const wanted = { logp: false, value: true, score: true };
    const { seconds: _, ...made } = await engine.score({ model, adapter, rows: pack(rows), ...wanted });
    return made;
  };

  it('starts at 0 and learns with the LoRA, whatever the micro-batches', async () => {
    for (const quantity of ['value', 'score'] as const) {
      const { model, adapter, optimizer } = await critic();
      const size = quantity === 'score' ? 3 : 14;
      const before = await read(model, adapter);
      expect([...before.value!, ...before.score!].every((x) => x === 0)).toBe(true);
      const wanted = Array.from({ length: size }, (_, k) => (k % 3) - 1);
      let loss = Infinity;
      for (let k = 0; k < 40; k++) ({ loss } = await engine.step(step(optimizer, quantity, wanted)));
      expect(loss).toBeLessThan(quantity === 'score' ? 0.05 : 1);
      const after = await read(model, adapter);
      if (quantity === 'score') wanted.forEach((w, k) => expect(after.score![k]).toBeCloseTo(w, 0));
      const whole = await engine.step({ ...step(optimizer, quantity, wanted), learningRate: 0 });
      const split = await engine.step({
        ...step(optimizer, quantity, wanted),
        learningRate: 0,
        microTokens: 4,
      });
      expect(split.loss).toBeCloseTo(whole.loss, 4);
      expect(split.gradNorm / whole.gradNorm).toBeCloseTo(1, 4);
    }
  });

  it('gives the score of a row as the value before the token that would follow it', async () => {
    const { model, adapter, optimizer } = await critic();
    await engine.step(
      step(
        optimizer,
        'value',
        Array.from({ length: 14 }, (_, k) => k),
      ),
    );
    const { score } = await read(model, adapter);
    const longer = rows.map((row) => [...row, 0]);
    const { value } = await engine.score({ model, adapter, rows: pack(longer), value: true });
    const ends = [4, 4 + 9, 4 + 9 + 3];
    ends.forEach((at, k) => expect(value![at]).toBeCloseTo(score![k]!, 5));
  });

  it('is saved and loaded with its adapter, and its optimiser goes on', async () => {
    const folder = temporaryFolder();
    const { model, adapter, optimizer } = await critic();
    const wanted = [1, -1, 2];
    await engine.step(step(optimizer, 'score', wanted));
    await engine.saveAdapter(adapter, join(folder.path, 'adapter_model.safetensors'));
    await engine.saveOptimizer(optimizer, join(folder.path, 'optimizer.safetensors'));
    writeFileSync(
      join(folder.path, 'adapter_config.json'),
      JSON.stringify({
        peft_type: 'LORA',
        r: 4,
        lora_alpha: 8,
        target_modules: 'all-linear',
        modules_to_save: ['classifier', 'score'],
      }),
    );
    const loaded = await engine.loadAdapter(model, folder.path);
    expect(loaded.scalarHead).toBe(true);
    const again = await engine.createOptimizer({ kind: 'adapter', adapter: loaded.id }, adamw);
    await engine.loadOptimizer(again, join(folder.path, 'optimizer.safetensors'));
    await engine.step(step(optimizer, 'score', wanted));
    await engine.step(step(again, 'score', wanted));
    expect(await read(model, loaded.id)).toEqual(await read(model, adapter));
    folder.remove();
  });

  it('is asked for where there is none', async () => {
    const { id: model } = await engine.loadModel(tinyModel);
    await expect(engine.score({ model, adapter: null, rows: pack(rows), value: true })).rejects.toMatchObject(
      { code: 'invalid_argument', message: expect.stringContaining('has a scalar head') },
    );
  });
});

describe('a teacher', () => {
  const program = (name: 'jsd' | 'topkDivergence') => {
    const p = new ProgramBuilder();
    const options: Record<string, number> = name === 'jsd' ? { beta: 0.5 } : { k: 5, tail: 1, alpha: 0.5 };
    const d = p.engine(name, undefined, { ...options, temperature: 1 });
    p.loss('divergence', d, 1);
    p.mean('divergence', d);
    return JSON.stringify(p.build());
  };
  const rows = rowsOf([5, 9, 3]);
  const request = (optimizer: OptimizerId, name: 'jsd' | 'topkDivergence'): StepRequest => ({
    optimizer,
    rows: pack(rows),
    program: program(name),
    inputs: {},
    temperature: 1,
    learningRate: 1e-2,
    maxGradNorm: null,
    microTokens: 8192,
  });

  it('is approached, also from another adapter on the same base; at itself there is nothing to learn', async () => {
    const { id: model } = await engine.loadModel(tinyModel);
    const teacher = await newLora(engine, model);
    for (let k = 0; k < 5; k++)
      await engine.step({ ...sftStep(teacher.optimizer, rows), learningRate: 1e-2 });
    for (const name of ['jsd', 'topkDivergence'] as const) {
      const student = await newLora(engine, model, { seed: 2 });
      const whom = { model, adapter: teacher.adapter };
      const first = await engine.step({ ...request(student.optimizer, name), teacher: whom });
      let last = first;
      for (let k = 0; k < 15; k++)
        last = await engine.step({ ...request(student.optimizer, name), teacher: whom });
      expect(last.loss).toBeLessThan(first.loss / 2);
      const at = { model, adapter: student.adapter };
      const self = await engine.step({ ...request(student.optimizer, name), teacher: at });
      expect(self.loss).toBeCloseTo(0, 4);
      expect(self.gradNorm).toBeLessThan(1e-3);
    }
  });

  it('is refused where it is missing or has another vocabulary', async () => {
    const { id: model } = await engine.loadModel(tinyModel);
    const { optimizer } = await newLora(engine, model);
    await expect(engine.step(request(optimizer, 'jsd'))).rejects.toMatchObject({
      code: 'invalid_argument',
      message: expect.stringContaining('teacher: missing'),
    });
    const abacus = fileURLToPath(new URL('../resources/models/abacus', import.meta.url));
    const other = await engine.loadModel(abacus);
    await expect(
      engine.step({ ...request(optimizer, 'jsd'), teacher: { model: other.id, adapter: null } }),
    ).rejects.toMatchObject({
      code: 'invalid_argument',
      message: expect.stringContaining('vocabulary'),
      hint: expect.stringContaining('tokenizer'),
    });
  });
});
