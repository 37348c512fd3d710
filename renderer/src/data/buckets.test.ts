import { expect, test } from 'vitest';
import { bucketed, MAX_POINTS, stepsPerPoint } from './buckets';

const steps = (count: number) => Float64Array.from({ length: count }, (_, index) => index + 1);

test('few steps are drawn as they are, and what is not a number is left out', () => {
  const points = bucketed(steps(3), { a: Float64Array.of(1, NaN, Infinity), b: undefined });
  expect(points).toEqual([
    { step: 1, a: 1, b: null },
    { step: 2, a: null, b: null },
    { step: 3, a: null, b: null },
  ]);
});

test('a long run draws at most the limit, in order, from its first step to its last, and keeps a single spike', () => {
  const values = new Float64Array(50_000).fill(0.5);
  values[31_337] = 9;
  values[31_339] = -4;
  const points = bucketed(steps(50_000), { a: values });
  expect(points.length).toBeLessThanOrEqual(MAX_POINTS);
  const of = (key: string) => points.map((point) => point[key] as number);
  expect(Math.max(...of('a:high'))).toBe(9);
  expect(Math.min(...of('a:low'))).toBe(-4);
  expect(of('a')[0]).toBe(0.5);
  expect(Math.max(...of('a'))).toBeCloseTo(0.5 + (8.5 - 4.5) / stepsPerPoint(50_000), 12);
  expect(of('step')[0]).toBe(1);
  expect(of('step').at(-1)).toBe(50_000);
  expect(points.every((point, index) => index === 0 || point.step > points[index - 1]!.step)).toBe(true);
});

test('no step is left out where the last bucket is smaller', () => {
  const points = bucketed(steps(601), { a: steps(601) });
  expect(points.at(-1)).toMatchObject({ step: 601, a: 601, 'a:low': 601 });
  expect(points[0]).toMatchObject({ step: 1, 'a:low': 1, 'a:high': 3 });
});
