import { expect, it } from 'vitest';
import { largestMicroBatch, packedLines } from './micro-batch';
import { slopesOf, updateBytes, type MeasuredBytes } from './update-bytes';

/** 500 bytes whatever there is, 30 a token, 2 a pair of tokens on a line. */
const take = (lines: number, length: number): MeasuredBytes => ({
  lines,
  length,
  bytes: 500 + lines * length * (30 + 2 * length),
});

it('lines of two lengths tell what goes by tokens and what by pairs', () => {
  const measures = [take(4, 40), take(8, 40), take(16, 40)];
  const slopes = slopesOf(measures, take(8, 20));
  expect(slopes.perToken).toBeCloseTo(30, 9);
  expect(slopes.perPair).toBeCloseTo(2, 9);
  const bytes = { measured: measures[2]!, ...slopes, move: 0 };
  expect(updateBytes(bytes, { lines: 3, length: 90, several: false }, 77)).toBeCloseTo(take(3, 90).bytes, 6);
  expect(updateBytes(bytes, { lines: 3, length: 90, several: true }, 77)).toBeCloseTo(
    take(3, 90).bytes + 77,
    6,
  );
});

it('a larger micro-batch than was measured takes in proportion, but for the gradient', () => {
  const bytes = { measured: take(4, 40), perToken: 1, perPair: 2, move: 0 };
  const activations = take(4, 40).bytes - 77;
  const more = (length: number) => updateBytes(bytes, { lines: 12, length, several: false }, 77);
  expect(more(40)).toBeCloseTo(77 + 3 * activations, 6);
  expect(more(50)).toBeCloseTo(77 + 3.75 * activations + 2 * 600 * 10, 6);
});

it('so does one line of three lengths', () => {
  const slopes = slopesOf([take(1, 25), take(1, 50), take(1, 100)], null);
  expect(slopes.perToken).toBeCloseTo(30, 9);
  expect(slopes.perPair).toBeCloseTo(2, 9);
});

it('the optimiser is the peak where its numbers take more than the micro-batch', () => {
  const bytes = { measured: take(2, 10), perToken: 50, perPair: 0, move: 10_000 };
  expect(updateBytes(bytes, { lines: 2, length: 10, several: false }, 0)).toBe(10_000);
});

it.each([
  ['all rows fit', 8, 1, 1000, { lines: 8, several: false }],
  ['some follow', 8, 1, 350, { lines: 3, several: true }],
  ['a row alone is longer', 8, 1, 50, { lines: 1, several: true }],
  ['pairs stay together', 8, 2, 350, { lines: 2, several: true }],
])('the largest micro-batch where %s', (_, lines, unit, microTokens, expected) => {
  const found = largestMicroBatch({ lines, length: 100, unit }, microTokens);
  expect(found).toEqual({ length: 100, ...expected });
});

it('rows are packed where they fit best, longest first', () => {
  // 60 + 40 fills a line; 50 + 45; 30 alone
  expect(packedLines([45, 60, 30, 50, 40], 100)).toEqual({ lines: 3, length: 100 });
  expect(packedLines([45, 50], 100)).toEqual({ lines: 1, length: 95 });
});
