import { expect, it } from 'vitest';
import { HeldOutPart } from './held-out-part';

const chosen = (rows: number, part: number, seed: number) => {
  const held = new HeldOutPart(rows, part, seed);
  return Array.from({ length: rows }, (_, k) => k).filter((k) => held.has(k));
};

it('is exactly as large as asked, the same for the same seed, and spread over the data', () => {
  expect(chosen(1000, 0.1, 7)).toHaveLength(100);
  expect(chosen(1000, 25, 7)).toHaveLength(25);
  expect(chosen(10, 0.01, 7)).toHaveLength(1);
  expect(chosen(5, 9, 7)).toHaveLength(5);
  expect(chosen(1000, 0.1, 7)).toEqual(chosen(1000, 0.1, 7));
  expect(chosen(1000, 0.1, 7)).not.toEqual(chosen(1000, 0.1, 8));
  const mean = chosen(10_000, 1000, 3).reduce((sum, k) => sum + k, 0) / 1000;
  expect(Math.abs(mean - 5000)).toBeLessThan(400);
});
