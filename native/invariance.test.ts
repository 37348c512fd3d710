// How a step's rows are split, ordered, padded and packed is the engine's own affair: for the loss of every algorithm
// it changes neither value nor gradient.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { answers, STEP_ROWS, trainerInputs } from '../shared/algorithms/testing/inputs';
import { variants, type Variant } from '../shared/algorithms/testing/variants';
import type { Engine, ModelId, StepRequest, StepResult } from './index';
import { cpuEngine, newLora, pack, rowsOf, sftStep, temporaryFolder, tinyModel } from './testing/tiny';

const { targets } = STEP_ROWS;
const rows = rowsOf(targets.map((n) => n + 1));
const folder = temporaryFolder();
const start = join(folder.path, 'start');
let engine: Engine;
let model: ModelId;
let logp: Float32Array;

beforeAll(async () => {
  engine = cpuEngine();
  model = (await engine.loadModel(tinyModel)).id;
  const { adapter, optimizer } = await newLora(engine, model);
  // B is 0 at first, and A would have no gradient
  await engine.step(sftStep(optimizer, rows, { learningRate: 3e-3 }));
  mkdirSync(start);
  await engine.saveAdapter(adapter, join(start, 'adapter_model.safetensors'));
  const config = { peft_type: 'LORA', r: 4, lora_alpha: 8, target_modules: 'all-linear', bias: 'none' };
  writeFileSync(join(start, 'adapter_config.json'), JSON.stringify({ ...config, task_type: 'CAUSAL_LM' }));
  ({ logp } = await engine.score({ model, adapter, rows: pack(rows) }));
});
afterAll(async () => {
  await engine.close();
  folder.remove();
});

type Plan = Omit<StepRequest, 'optimizer'>;
type Outcome = Pick<StepResult, 'loss' | 'metrics'> & { gradient: Float32Array };

/** The numbers of a safetensors file. */
function numbers(file: string): Float32Array {
  const bytes = readFileSync(file);
  const data = bytes.subarray(8 + Number(bytes.readBigUInt64LE()));
  return new Float32Array(data.buffer.slice(data.byteOffset, data.byteOffset + data.length));
}

/** Of one step from the same adapter, at rate 1 along the gradient itself. */
async function outcome(plan: Plan): Promise<Outcome> {
  const { id: adapter } = await engine.loadAdapter(model, start);
  const optimizer = await engine.createOptimizer(
    { kind: 'adapter', adapter },
    { kind: 'sgd', momentum: 0, weightDecay: 0 },
  );
  const { loss, metrics, updated } = await engine.step({ ...plan, optimizer });
  expect(updated).toBe(true);
  const file = join(folder.path, 'moved.safetensors');
  await engine.saveAdapter(adapter, file);
  await engine.freeOptimizer(optimizer);
  await engine.unloadAdapter(adapter);
  const before = numbers(join(start, 'adapter_model.safetensors'));
  return { loss, metrics, gradient: numbers(file).map((x, k) => before[k]! - x) };
}

const largest = (x: Float32Array) => x.reduce((most, v) => Math.max(most, Math.abs(v)), 0);

function expectSame(got: Outcome, want: Outcome, what: string): void {
  const near = (a: number, b: number) =>
    (Number.isNaN(a) && Number.isNaN(b)) || Math.abs(a - b) <= 1e-5 * Math.max(1, Math.abs(b));
  expect(near(got.loss, want.loss), `${what}: loss ${got.loss}, ${want.loss}`).toBe(true);
  for (const [key, value] of Object.entries(want.metrics))
    expect(near(got.metrics[key]!, value), `${what}: ${key} ${got.metrics[key]}, ${value}`).toBe(true);
  const apart = largest(got.gradient.map((g, k) => g - want.gradient[k]!));
  expect(apart, `${what}: gradient`).toBeLessThanOrEqual(1e-5 * Math.max(1, largest(want.gradient)));
}

/** Trajectories that the program takes together: 2 for pairs. */
const together = ({ program }: Variant) =>
  Math.max(1, ...program.nodes.map(({ op, n }) => (op === 'part' ? n! : 1)));

function plain({ program, params }: Variant): Plan {
  return {
    rows: pack(rows),
    groups: Int32Array.from(rows, (_, row) => Math.floor(row / 2)),
    program: JSON.stringify(program),
    inputs: trainerInputs(program, params, { ...STEP_ROWS, logp }),
    temperature: 1,
    learningRate: 1,
    maxGradNorm: null,
    microTokens: 4096,
  };
}

/** Whole units in another order, with everything that belongs to them. */
function permuted(variant: Variant, plan: Plan): Plan {
  const n = together(variant);
  const units = Array.from({ length: rows.length / n }, (_, k) => k);
  const order = [...units.slice(2).reverse(), ...units.slice(0, 2)].flatMap((unit) =>
    Array.from({ length: n }, (_, k) => unit * n + k),
  );
  const offsets = targets.map((_, row) => targets.slice(0, row).reduce((sum, x) => sum + x, 0));
  const inputs = variant.program.inputs.flatMap(({ name, shape, from }) => {
    if (from === 'engine') return [];
    const values = plan.inputs[name]!;
    const each = Number(shape.slice(2) || 1);
    const moved =
      shape === 'T'
        ? order.flatMap((row) => [...values.subarray(offsets[row]!, offsets[row]! + targets[row]!)])
        : shape === 'scalar'
          ? values
          : order.flatMap((row) => (row % each === 0 ? [values[row / each]!] : []));
    return [[name, Float32Array.from(moved)]];
  });
  return {
    ...plan,
    rows: pack(order.map((row) => rows[row]!)),
    groups: Int32Array.from(order, (row) => plan.groups![row]!),
    inputs: Object.fromEntries(inputs),
  };
}

/** What stands beside the answers must not matter. */
function spoilt({ program }: Variant, plan: Plan): Plan {
  const mask = answers(STEP_ROWS);
  const odd = [NaN, 1e30, -Infinity];
  const inputs = program.inputs.flatMap(({ name, shape, kind, from }) => {
    if (from !== 'data') return [];
    const values = plan.inputs[name]!;
    const spoil = shape === 'T' && kind === 'number';
    return [[name, spoil ? values.map((x, t) => (mask[t] ? x : odd[t % odd.length]!)) : values]];
  });
  return { ...plan, inputs: { ...plan.inputs, ...Object.fromEntries(inputs) } };
}

/** Quantities that want a head or a teacher have their own tests. */
const PLAIN = new Set(['logp', 'entropy', 'meanLogp', 'logSumSqProbs', 'meanLogit', 'correct']);
const all = variants().filter(({ program }) =>
  program.inputs.every(({ name, from }) => from !== 'engine' || PLAIN.has(name)),
);

describe.each(all.map((v) => [v.name, v] as const))('%s', (_, variant) => {
  it('does not depend on order, split, padding, packing, recomputed layers or numbers beside its mask', async () => {
    const plan = plain(variant);
    const want = await outcome(plan);
    expect(Number.isFinite(want.loss)).toBe(true);
    expect(largest(want.gradient)).toBeGreaterThan(0);
    const others: [string, Plan][] = [
      ['order', permuted(variant, plan)],
      ['split', { ...plan, microTokens: 20 }],
      ['each alone', { ...plan, microTokens: 1 }],
      ['packed', { ...plan, packTokens: 40 }],
      ['packed and split', { ...plan, packTokens: 40, microTokens: 40 }],
      ['recomputed', { ...plan, recompute: true }],
      ['garbage', spoilt(variant, plan)],
    ];
    for (const [what, other] of others) expectSame(await outcome(other), want, what);
  });
});
