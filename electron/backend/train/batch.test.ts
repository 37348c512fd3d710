import { expect, it } from 'vitest';
import { algorithmByKey } from '../../../shared/algorithms';
import { buildBatch, splitByGroup, type TrainRow } from './batch';

const row = (group: number, ids: number[], more: Partial<TrainRow> = {}): TrainRow => ({
  ids: Int32Array.from(ids),
  group,
  use: 'train',
  loss: Uint8Array.from(ids.slice(1), (_id, t) => (t > 0 ? 1 : 0)),
  values: {
    advantage: group + 0.5,
    samplerLogp: Float32Array.from(ids.slice(1), (id) => -id),
    refLogp: Float32Array.from(ids.slice(1), (id) => -2 * id),
  },
  ...more,
});
const grpo = algorithmByKey('grpo')!;
const program = (more: object = {}) => grpo.losses(grpo.params.parse({ beta: 0.1, ...more })).policy;

it('lays rows end to end, with one entry a target in every input', () => {
  const rows = [row(4, [1, 2, 3]), row(9, [5, 6, 7, 8], { use: 'skip' }), row(4, [9, 9])];
  expect(buildBatch(rows, program(), 1.5, {})).toEqual({
    rows: { ids: Int32Array.of(1, 2, 3, 5, 6, 7, 8, 9, 9), lengths: Int32Array.of(3, 4, 2) },
    groups: Int32Array.of(0, 1, 0),
    skip: Uint8Array.of(0, 1, 0),
    inputs: {
      loss: Float32Array.of(0, 1, 0, 1, 1, 0),
      samplerLogp: Float32Array.of(-2, -3, -6, -7, -8, -9),
      refLogp: Float32Array.of(-4, -6, -12, -14, -16, -18),
      advantage: Float32Array.of(4.5, 9.5, 4.5),
      meanStepTokens: Float32Array.of(1.5),
    },
  });
});

it('asks only for what the program names, and refuses what it cannot make', () => {
  const { inputs } = buildBatch([row(0, [1, 2])], program({ beta: 0 }), 1, {});
  expect(inputs).not.toHaveProperty('refLogp');
  const odd = {
    ...program(),
    inputs: [{ name: 'value', shape: 'T' as const, kind: 'number' as const, from: 'data' as const }],
  };
  expect(() => buildBatch([row(0, [1, 2])], odd, 1, {})).toThrow('"value"');
  expect(() => buildBatch([row(0, [1, 2], { values: {} })], program(), 1, {})).toThrow('samplerLogp');
  const wrong = row(0, [1, 2], { values: { samplerLogp: 1, refLogp: 1, advantage: 1 } });
  expect(() => buildBatch([wrong], program(), 1, {})).toThrow('"samplerLogp" was made by row');
  const param = { name: 'beta', shape: 'scalar' as const, kind: 'number' as const, from: 'param' as const };
  const asks = { ...program(), inputs: [param] };
  expect(buildBatch([row(0, [1, 2])], asks, 1, { beta: 0.5 }).inputs).toEqual({ beta: Float32Array.of(0.5) });
  expect(() => buildBatch([row(0, [1, 2])], asks, 1, {})).toThrow('"beta"');
});

it('keeps groups whole when a step is split, and loses no row', () => {
  const rows = Array.from({ length: 20 }, (_, k) => row(Math.floor(k / 4), [k, k + 1]));
  for (const updates of [1, 2, 3, 5, 9]) {
    const parts = splitByGroup(rows, updates);
    expect(parts).toHaveLength(Math.min(updates, 5));
    expect(parts.flat()).toEqual(rows);
    const owners = parts.map((part) => new Set(part.map((r) => r.group)));
    for (const group of [0, 1, 2, 3, 4]) expect(owners.filter((set) => set.has(group))).toHaveLength(1);
  }
});
