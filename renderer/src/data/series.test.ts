import { expect, test } from 'vitest';
import { Series } from './series';

test('keeps each key aligned with the steps, with NaN where a step lacks it', () => {
  const series = new Series();
  series.append(1, { a: 1 });
  series.append(2, { b: 2 });
  series.append(3, { a: 3, b: NaN });
  expect([...series.steps]).toEqual([1, 2, 3]);
  expect([...series.values('a')!]).toEqual([1, NaN, 3]);
  expect([...series.values('b')!]).toEqual([NaN, 2, NaN]);
  expect(series.last('b')).toBe(2);
  expect(series.values('c')).toBeUndefined();
});

test('grows beyond its first size without losing a value', () => {
  const series = new Series();
  for (let step = 1; step <= 1000; step += 1)
    series.append(step, { a: step, ...(step > 600 ? { late: -step } : {}) });
  expect(series.length).toBe(1000);
  expect(series.values('a')![999]).toBe(1000);
  expect(series.values('late')![0]).toBeNaN();
  expect(series.values('late')![999]).toBe(-1000);
});

test('a step that is computed again replaces it and what came after', () => {
  const series = new Series();
  for (let step = 1; step <= 10; step += 1) series.append(step, { a: step });
  series.append(7, { a: 70 });
  expect([...series.steps]).toEqual([1, 2, 3, 4, 5, 6, 7]);
  expect(series.last('a')).toBe(70);
});

test('finds a step, or the one before it', () => {
  const series = new Series();
  for (const step of [2, 4, 8]) series.append(step, { a: step });
  expect([1, 2, 3, 8, 99].map((step) => series.indexOf(step))).toEqual([-1, 0, 0, 2, 2]);
});
