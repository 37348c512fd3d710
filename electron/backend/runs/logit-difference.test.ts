import { expect, it } from 'vitest';
import { logitDifference, within } from './logit-difference';

const exact = { logit: 1e-3, kl: Infinity, share: Infinity };

it('measures logits, divergence and the likeliest token', () => {
  const a = Float32Array.of(0, Math.log(3), 1, 1);
  const b = Float32Array.of(0, 0, 1, 1);
  const { logit, kl, top } = logitDifference(a, b, 2);
  expect(logit).toBeCloseTo(Math.log(3), 6);
  // KL((1/2, 1/2) || (1/4, 3/4)) = ln 2 - ln 3 / 2, and nothing in the second row
  expect(kl).toBeCloseTo((Math.log(2) - Math.log(3) / 2) / 2, 6);
  expect(top).toBe(0.5);
  expect(within(logitDifference(b, b, 2), exact)).toBe(true);
});

it.each([
  ['NaN', Float32Array.of(NaN, 0)],
  ['an infinity', Float32Array.of(Infinity, 0)],
  ['another length', Float32Array.of(0)],
])('never holds %s for good', (_name, odd) => {
  expect(within(logitDifference(odd, Float32Array.of(0, 0), 1), { logit: Infinity, kl: 1, share: 1 })).toBe(
    false,
  );
});

it('measures scores against the largest of them', () => {
  const { logit, kl, share } = logitDifference(Float32Array.of(1, -4.5), Float32Array.of(1, -5), 2);
  expect([logit, kl, share]).toEqual([0.5, 0, 0.1]);
  expect(logitDifference(Float32Array.of(0), Float32Array.of(0), 1).share).toBe(0);
  expect(logitDifference(Float32Array.of(1), Float32Array.of(0), 1).share).toBe(Infinity);
});
