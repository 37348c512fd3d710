// How a step's rows are split, ordered, padded and packed is the engine's own affair: for the loss of every algorithm
// it changes neither value nor gradient.
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { answers, STEP_ROWS } from '../shared/algorithms/testing/inputs';
import type { Variant } from '../shared/algorithms/testing/variants';
import type { Engine, ModelId } from './index';
import {
  expectSame,
  largest,
  outcome,
  plain,
  plainVariants,
  rows,
  targets,
  writeStart,
  type Plan,
} from './testing/outcomes';
import { cpuEngine, pack, temporaryFolder, tinyModel } from './testing/tiny';

const folder = temporaryFolder();
const start = join(folder.path, 'start');
let engine: Engine;
let model: ModelId;
let logp: Float32Array;

beforeAll(async () => {
  engine = cpuEngine();
  model = (await engine.loadModel(tinyModel)).id;
  logp = await writeStart(engine, model, start);
});
afterAll(async () => {
  await engine.close();
  folder.remove();
});

const outcomeOf = (plan: Plan) => outcome(engine, model, start, plan);

/** Trajectories that the program takes together: 2 for pairs. */
const together = ({ program }: Variant) =>
  Math.max(1, ...program.nodes.map(({ op, n }) => (op === 'part' ? n! : 1)));

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

describe.each(plainVariants.map((v) => [v.name, v] as const))('%s', (_, variant) => {
  it('does not depend on order, split, padding, packing, recomputed layers or numbers beside its mask', async () => {
    const plan = plain(variant, logp);
    const want = await outcomeOf(plan);
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
    for (const [what, other] of others) expectSame(await outcomeOf(other), want, what);
  });
});
