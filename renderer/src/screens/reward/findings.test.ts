import { expect, test } from 'vitest';
import type { ScoredSample } from '../../data/reward-test';
import { findings, statistics } from './findings';

const sample = (
  index: number,
  group: number,
  reward: number | null,
  completion = 'a'.repeat(5 + ((index * 7) % 11)),
): ScoredSample => ({
  index,
  group,
  line: group + 1,
  prompt: `p${group}`,
  completion,
  answer: null,
  finish: 'stop',
  reward,
  status: reward === null ? 'error' : 'ok',
  milliseconds: 1,
});

test('figures leave out answers without a reward instead of counting them as 0', () => {
  const stats = statistics([sample(0, 0, 1), sample(1, 0, null), sample(2, 1, 0), sample(3, 1, 0)]);
  expect(stats.mean).toBeCloseTo(1 / 3);
  expect(stats.rewards).toEqual([1, 0, 0]);
  // the first group has one reward only and cannot be compared
  expect(stats.flatShare).toBe(1);
});

test('a constant reward, a failing one and one that follows length are told', () => {
  const constant = Array.from({ length: 8 }, (_, i) => sample(i, i >> 1, 0.5));
  expect(findings(constant).map((finding) => finding.title)).toEqual(['Every answer got 0.5']);
  const failing = [sample(0, 0, null), sample(1, 0, 1), sample(2, 0, 0)];
  expect(findings(failing)[0]).toMatchObject({ level: 'error', title: '1 of 3 answers got no reward' });
  const lengthwise = Array.from({ length: 8 }, (_, i) => sample(i, i >> 2, i, 'x'.repeat(10 * (i + 1))));
  expect(findings(lengthwise).map((finding) => finding.title)).toEqual([
    'The reward follows the length of the answer (r = 1.00)',
  ]);
});

test('a reward that works has nothing to tell', () => {
  expect(findings(Array.from({ length: 16 }, (_, i) => sample(i, i >> 2, (i * 5) % 3)))).toEqual([]);
});
