import { describe, expect, test } from 'vitest';
import { compareExact, signFlip, type Outcome } from './compare';

const exact = [
  { curve: [2, 1], gradNorms: [1, 1] },
  { curve: [3, 1], gradNorms: [2, 0.5] },
];
/** The exact steps with their norms off by a share, and a first value by an amount. */
const off = (share: number, value = 0): Outcome[] =>
  exact.map(({ curve: [first, second], gradNorms }) => ({
    curve: [first! + value, second!],
    gradNorms: gradNorms.map((norm) => norm * (1 + share)),
    costs: [{ seconds: 1, sampling: 0, processor: 1 }],
  }));

describe('the same rows, against double precision', () => {
  test('norms that rounding moves as far on both sides are the same', () => {
    const { good, table } = compareExact(off(1e-3), off(-1e-3), exact);
    expect(good).toBe(true);
    expect(table).toContain('off by 1.0e-3 of their mean here and 1.0e-3 in TRL');
  });

  test.each([
    ['norms three times as far off as the peer’s', off(3e-3), off(1e-3)],
    ['another value here', off(1e-3, 1e-4), off(1e-3)],
    ['another value there', off(1e-3), off(1e-3, 1e-4)],
    [
      'one step far off',
      off(1e-3).map((one, k) => (k === 0 ? { ...one, gradNorms: [1.01, 1] } : one)),
      off(2e-3),
    ],
  ])('%s are not', (_, ours, theirs) => {
    expect(compareExact(ours, theirs, exact).good).toBe(false);
  });
});

test('p of paired differences is the share of signs that give as much', () => {
  expect(signFlip([1, 1, 1])).toBe(0.25);
  expect(signFlip([1, -1, 1, -1])).toBe(1);
});
