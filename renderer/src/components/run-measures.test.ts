import { expect, test } from 'vitest';
import { headlineOf, heldOutOf } from './run-measures';

const run = (algorithm: string, key: string, value: number, before: number | null, after: number | null) => ({
  algorithm,
  headline: { key, value, points: [] },
  heldOut: { before, after },
});

test('a run is spoken for by what its algorithm measures, in that unit', () => {
  expect(headlineOf(run('dpo', 'preference/accuracy', 1, null, null))).toEqual({
    label: 'Pairs told apart',
    text: '100.0\u00a0%',
  });
  expect(headlineOf(run('grpo', 'reward/mean', 0.5, null, null))).toEqual({ label: 'Reward', text: '0.500' });
  expect(headlineOf(run('gone', 'area/name', 2, null, null))).toEqual({ label: 'area/name', text: '2.000' });
});

test('held-out rows: measure, unit and change', () => {
  expect(heldOutOf(run('dpo', 'preference/accuracy', 1, 0.5, 1))).toEqual({
    label: 'Pairs told apart',
    before: '50.0',
    after: '100.0\u00a0%',
    change: '+50.0\u00a0pp',
  });
  expect(heldOutOf(run('sft', 'train/nll', 1, 0.4, 0.1))).toMatchObject({
    label: 'Loss per token',
    change: '−0.300',
  });
  expect(heldOutOf(run('grpo', 'reward/mean', 1, 0.4, null))).toMatchObject({ after: '–', change: '' });
  expect(heldOutOf(run('grpo', 'reward/mean', 1, null, null))).toBeNull();
});
