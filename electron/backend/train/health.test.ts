import { describe, expect, it } from 'vitest';
import { Health, heldOutFinding } from './health';
import type { Observed } from './health-rules';

const observed = (metrics: Record<string, number>, more: Partial<Observed> = {}): Observed => ({
  metrics,
  rewards: [],
  refused: 0,
  still: null,
  ...more,
});

/** What is told at each step, as "step code act". */
function told(steps: Observed[], health = new Health([]), from = 1): string[] {
  return steps.flatMap((step, k) =>
    health.observe(from + k, step).map(({ act, event }) => `${event.step} ${event.code} ${act ?? 'over'}`),
  );
}
const times = (count: number, metrics: (k: number) => Record<string, number>) =>
  Array.from({ length: count }, (_, k) => observed(metrics(k)));

describe('a warning', () => {
  const cut = (share: number) => observed({ 'rollout/truncated': share });

  it('is told when it begins and when it is over, not at each step and not at each flap', () => {
    const shares = [0.3, 0.3, 0.2, 0.3, 0.2, 0.3, ...Array.from({ length: 30 }, () => 0.1), 0.3];
    expect(told(shares.map(cut))).toEqual(['1 truncated warn', '16 truncated over', '37 truncated warn']);
  });

  it('that was told before a resume is not told again', () => {
    const past = Array.from({ length: 30 }, (_, k) => ({
      step: k + 1,
      metrics: { 'rollout/truncated': k < 12 ? 0 : 0.3 },
    }));
    const stored = Health.past(30);
    const health = new Health(past.filter(({ step }) => stored.includes(step)));
    expect(told([cut(0.3)], health, 31)).toEqual([]);
  });
});

describe('rules', () => {
  it('a constant reward is told at once, with the likely cause', () => {
    const health = new Health([]);
    const [first] = health.observe(1, observed({}, { rewards: [0, 0, 0] }));
    expect(first!.event).toMatchObject({
      code: 'constant_reward',
      hint: expect.stringContaining('too hard'),
    });
    const [one] = new Health([]).observe(1, observed({}, { rewards: [0.1, 0.1] }));
    expect(one!.event.hint).toContain('may not depend on the answer');
    const steps = [[0, 1], [1], [1, 1], [0, 1], [1, 1], [1, 1], [1, 1]];
    expect(told(steps.map((rewards) => observed({}, { rewards })))).toEqual(['7 constant_reward warn']);
  });

  it('KL: a jump, and a long way from the base model', () => {
    expect(told(times(12, (k) => ({ 'policy/kl': 0.004 * k })))).toEqual([]);
    expect(told(times(12, (k) => ({ 'policy/kl': k === 11 ? 0.4 : 0.02 })))).toEqual(['12 kl_growth warn']);
    expect(told(times(5, (k) => ({ 'policy/kl': k / 2 })))).toEqual(['4 kl_growth warn']);
  });

  it('one text for every prompt, where the first step had many', () => {
    expect(told(times(12, (k) => ({ 'rollout/duplicates': k === 0 ? 0.05 : 0.9 })))).toEqual([
      '10 same_answers warn',
    ]);
    expect(told(times(12, () => ({ 'rollout/duplicates': 0.9 })))).toEqual([]);
  });

  it('length that grows while the reward does not', () => {
    const growing = (reward: (k: number) => number) =>
      told(
        times(30, (k) => ({
          'rollout/length': 10 + k,
          'reward/mean': reward(k),
          'reward/std': 0.4,
        })),
      );
    expect(growing(() => 0.3)).toEqual(['20 longer_for_nothing warn']);
    expect(growing((k) => 0.3 + k / 60)).toEqual([]);
  });

  it('sampler and trainer that disagree: warned of, then the end', () => {
    const gaps = [0, 0.03, 0.6, 0.6, 0.6];
    expect(told(gaps.map((gap) => observed({ 'policy/sampler_mismatch': gap })))).toEqual([
      '2 sampler_mismatch warn',
      '5 sampler_mismatch stop',
    ]);
    expect(told([observed({ 'policy/sampler_mismatch': 0.01, 'policy/off_sampler': 0.2 })])).toEqual([
      '1 sampler_mismatch warn',
    ]);
  });

  it('entropy of some steps is compared with the first that had one', () => {
    const entropies = (values: number[]) =>
      told(values.map((entropy) => observed({ 'rollout/entropy': entropy })));
    const low = Array.from({ length: 10 }, () => 0.1);
    expect(entropies([NaN, 1, ...low])).toEqual(['11 entropy_low warn']);
    expect(entropies([NaN, 1, 0.01, 2.5, 0.01, 2.5])).toEqual([]);
    expect(entropies([NaN, 1, 1, 30])).toEqual(['4 entropy_high warn']);
  });

  it('what is not finite twice within 20 steps is the end', () => {
    const refused = (at: number[], count: number) =>
      told(Array.from({ length: count }, (_, k) => observed({}, { refused: at.includes(k + 1) ? 1 : 0 })));
    expect(refused([1, 20], 20)).toEqual(['1 non_finite warn', '11 non_finite over', '20 non_finite stop']);
    expect(refused([1, 21], 21)).toEqual(['1 non_finite warn', '11 non_finite over', '21 non_finite warn']);
  });
});

describe('held-out rows', () => {
  it.each([
    ['held_out/sampled', 0.5, 0.5, /reward did not rise: 0.500 before, 0.500 after/],
    ['held_out/nll', 1, 1.2, /loss did not fall/],
    ['held_out/margin', 0, -0.1, /told apart no better: 0.000 before, -0.100 after/],
  ])('that gained nothing are told: %s', (key, before, after, message) => {
    const more = { 'held_out/accuracy': 1 };
    expect(heldOutFinding(9, { ...more, [key]: before }, { ...more, [key]: after })).toMatchObject({
      code: 'held_out_no_gain',
      message: expect.stringMatching(message),
    });
    const gained = key === 'held_out/nll' ? before - 0.1 : before + 0.1;
    expect(heldOutFinding(9, { [key]: before }, { [key]: gained })).toBeNull();
  });

  it('that cannot be compared say nothing', () => {
    expect(heldOutFinding(9, { 'held_out/sampled': NaN }, { 'held_out/sampled': 1 })).toBeNull();
    expect(heldOutFinding(9, {}, {})).toBeNull();
  });
});
