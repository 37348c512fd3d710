import { expect, test } from 'vitest';
import { tokenBin, tokenBins } from './token-colors';

test('each probability has one bin, from expected to surprising', () => {
  expect([1, 0.9, 0.89, 0.3, 0.06, 0.02, 0.005].map((p) => tokenBin(Math.log(p)))).toEqual([
    0, 0, 1, 2, 3, 4, 5,
  ]);
  expect(tokenBin(-Infinity)).toBe(tokenBins.length - 1);
  expect(tokenBin(NaN)).toBeNull();
});
