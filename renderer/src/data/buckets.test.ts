import { expect, test } from 'vitest';
import { bucketed, MAX_POINTS } from './buckets';

const steps = (count: number) => Float64Array.from({ length: count }, (_, index) => index + 1);

test('few steps are drawn as they are, and what is not a number is left out', () => {
  const points = bucketed(steps(3), { a: Float64Array.of(1, NaN, Infinity), b: undefined });
  expect(points).toEqual([
    { step: 1, a: 1, b: null },
    { step: 2, a: null, b: null },
    { step: 3, a: null, b: null },
  ]);
});

test('a long run draws at most the limit, in order, and keeps a single spike', () => {
  const values = new Float64Array(50_000).fill(0.5);
  values[31_337] = 9;
  values[31_339] = -4;
  const points = bucketed(steps(50_000), { a: values });
  expect(points.length).toBeLessThanOrEqual(MAX_POINTS);
  const drawn = points.map((point) => point['a']);
  expect(Math.max(...(drawn as number[]))).toBe(9);
  expect(Math.min(...(drawn as number[]))).toBe(-4);
  // the spike up came before the spike down
  expect(drawn.indexOf(9)).toBeLessThan(drawn.indexOf(-4));
  expect(points.every((point, index) => index === 0 || point.step > points[index - 1]!.step)).toBe(true);
});
