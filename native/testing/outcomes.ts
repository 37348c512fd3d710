/** One step of any algorithm's loss on the smallest model, and what comes of it. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { STEP_ROWS, trainerInputs } from '../../shared/algorithms/testing/inputs';
import { variants, type Variant } from '../../shared/algorithms/testing/variants';
import type { Engine, ModelId, StepRequest, StepResult } from '../index';
import { newLora, pack, rowsOf, sftStep } from './tiny';

export const { targets } = STEP_ROWS;
export const rows = rowsOf(targets.map((n) => n + 1));

/** Quantities that want a head or a teacher have their own tests. */
const PLAIN = new Set(['logp', 'entropy', 'meanLogp', 'logSumSqProbs', 'meanLogit', 'correct']);
export const plainVariants: Variant[] = variants().filter(({ program }) =>
  program.inputs.every(({ name, from }) => from !== 'engine' || PLAIN.has(name)),
);

export type Plan = Omit<StepRequest, 'optimizer'>;
export type Outcome = Pick<StepResult, 'loss' | 'metrics'> & { gradient: Float32Array };

/** Writes an adapter that has moved (B is 0 at first, and A would have no gradient) into a folder; its logp of the rows. */
export async function writeStart(engine: Engine, model: ModelId, folder: string): Promise<Float32Array> {
  const { adapter, optimizer } = await newLora(engine, model);
  await engine.step(sftStep(optimizer, rows, { learningRate: 3e-3 }));
  mkdirSync(folder);
  await engine.saveAdapter(adapter, join(folder, 'adapter_model.safetensors'));
  const config = { peft_type: 'LORA', r: 4, lora_alpha: 8, target_modules: 'all-linear', bias: 'none' };
  writeFileSync(join(folder, 'adapter_config.json'), JSON.stringify({ ...config, task_type: 'CAUSAL_LM' }));
  return (await engine.score({ model, adapter, rows: pack(rows) })).logp;
}

export const plain = ({ program, params }: Variant, logp: Float32Array): Plan => ({
  rows: pack(rows),
  groups: Int32Array.from(rows, (_, row) => Math.floor(row / 2)),
  program: JSON.stringify(program),
  inputs: trainerInputs(program, params, { ...STEP_ROWS, logp }),
  temperature: 1,
  learningRate: 1,
  maxGradNorm: null,
  microTokens: 4096,
});

/** The numbers of a safetensors file of f32 only. */
export function numbers(file: string): Float32Array {
  const bytes = readFileSync(file);
  const data = bytes.subarray(8 + Number(bytes.readBigUInt64LE()));
  return new Float32Array(data.buffer.slice(data.byteOffset, data.byteOffset + data.length));
}

/** Of one step from the same adapter (writeStart's folder), at rate 1 along the gradient itself. */
export async function outcome(engine: Engine, model: ModelId, start: string, plan: Plan): Promise<Outcome> {
  const { id: adapter } = await engine.loadAdapter(model, start);
  const optimizer = await engine.createOptimizer(
    { kind: 'adapter', adapter },
    { kind: 'sgd', momentum: 0, weightDecay: 0 },
  );
  const { loss, metrics, updated } = await engine.step({ ...plan, optimizer });
  expect(updated).toBe(true);
  const file = join(start, 'moved.safetensors');
  await engine.saveAdapter(adapter, file);
  await engine.freeOptimizer(optimizer);
  await engine.unloadAdapter(adapter);
  const before = numbers(join(start, 'adapter_model.safetensors'));
  return { loss, metrics, gradient: numbers(file).map((x, k) => before[k]! - x) };
}

export const largest = (x: Float32Array): number => x.reduce((most, v) => Math.max(most, Math.abs(v)), 0);

/** Up to the order that sums are made in. */
export function expectSame(got: Outcome, want: Outcome, what: string): void {
  const near = (a: number, b: number) =>
    (Number.isNaN(a) && Number.isNaN(b)) || Math.abs(a - b) <= 1e-5 * Math.max(1, Math.abs(b));
  expect(near(got.loss, want.loss), `${what}: loss ${got.loss}, ${want.loss}`).toBe(true);
  for (const [key, value] of Object.entries(want.metrics))
    expect(near(got.metrics[key]!, value), `${what}: ${key} ${got.metrics[key]}, ${value}`).toBe(true);
  const apart = largest(got.gradient.map((g, k) => g - want.gradient[k]!));
  expect(apart, `${what}: gradient`).toBeLessThanOrEqual(1e-5 * Math.max(1, largest(want.gradient)));
}
