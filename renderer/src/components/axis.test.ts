import { expect, test } from 'vitest';
import { valueTicks } from './axis';

test('an axis of values begins and ends at round numbers around them', () => {
  expect(valueTicks(0.342, 0.94)).toEqual([0.2, 0.4, 0.6, 0.8, 1]);
  expect(valueTicks(-0.06, 1.14)).toEqual([-0.4, 0, 0.4, 0.8, 1.2]);
  expect(valueTicks(0.004, 0.019)).toEqual([0.004, 0.008, 0.012, 0.016, 0.02]);
  expect(valueTicks(0, 1)).toEqual([0, 0.25, 0.5, 0.75, 1]);
  expect(valueTicks(3124, 3489)).toEqual([3100, 3200, 3300, 3400, 3500]);
});

test('one value, or hardly any difference, has an axis too', () => {
  expect(valueTicks(0, 0)).toEqual([0, 0.01, 0.02, 0.03]);
  expect(valueTicks(0.5, 0.5)).toEqual([0, 0.25, 0.5, 0.75, 1]);
  expect(valueTicks(-2, -2)).toEqual([-4, -3, -2, -1, 0]);
  for (const [low, high] of [
    [1, 1 + 1e-9],
    [1e-30, 2e-30],
    [-1e12, 1e12],
  ] as const) {
    const ticks = valueTicks(low, high);
    expect(ticks.length).toBeGreaterThanOrEqual(2);
    expect(ticks.length).toBeLessThanOrEqual(7);
    expect(ticks[0]).toBeLessThanOrEqual(low);
    expect(ticks.at(-1)).toBeGreaterThanOrEqual(high);
  }
});
