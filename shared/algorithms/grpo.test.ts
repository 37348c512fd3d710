import { describe, expect, it } from 'vitest';
import { evaluateProgram } from '../program';
import { grpo, grpoLoss } from './grpo';
import type { Rollouts } from './algorithm';

const params = (p: object = {}) => grpo.params.parse(p);
const judge = (r: Partial<Rollouts> & Pick<Rollouts, 'reward' | 'group'>, p: object = {}) => {
  const rest = {
    truncated: r.reward.map(() => false),
    length: r.reward.map(() => 10),
    samplerLogp: r.reward.map(() => new Float32Array(10)),
  };
  const judged = grpo.advantages!({ ...rest, ...r }, params(p));
  return { ...judged, advantage: judged.advantage as number[] };
};

/** Two rollouts of 3 and 2 targets, the first target of each a prompt token. */
const batch = (p: object = {}, change: Record<string, number[]> = {}) => {
  const program = grpoLoss(params(p));
  const all: Record<string, number[]> = {
    loss: [0, 1, 1, 0, 1],
    logp: [-1, -0.5, -2, -1, -0.7],
    samplerLogp: [0, -0.5, -2, 0, -0.7],
    refLogp: [0, -0.6, -1.5, 0, -0.9],
    entropy: [1, 1, 2, 1, 3],
    advantage: [1, -1],
    meanStepTokens: [3],
    ...change,
  };
  return evaluateProgram(program, {
    targets: [3, 2],
    inputs: Object.fromEntries(program.inputs.map((i) => [i.name, all[i.name]])),
    gradients: ['logp'],
  });
};

describe('GRPO advantages', () => {
  it('are (r - mean) / (unbiased std + 1e-4) in the group', () => {
    const { advantage, use } = judge({ reward: [1, 0, 0, 1], group: [7, 7, 7, 7] });
    const a = 0.5 / (Math.sqrt(1 / 3) + 1e-4);
    expect(advantage).toEqual([a, -a, -a, a]);
    expect(use).toEqual(['train', 'train', 'train', 'train']);
  });

  it('are exactly 0 for equal rewards whose mean is not representable; the group is counted and skipped', () => {
    const { advantage, use, metrics } = judge({
      reward: [0.1, 0.1, 0.1, 1, 0, 0],
      group: [1, 1, 1, 2, 2, 2],
    });
    expect(advantage.slice(0, 3)).toEqual([0, 0, 0]);
    expect(use).toEqual(['skip', 'skip', 'skip', 'train', 'train', 'train']);
    expect(metrics['reward/zero_variance']).toBe(0.5);
  });

  it.each([{ beta: 0.01 }, { entropyBonus: 0.01 }])('of equal rewards are forwarded with %o', (p) => {
    expect(judge({ reward: [1, 1], group: [0, 0] }, p).use).toEqual(['train', 'train']);
  });

  it('leave a missing reward out of the statistics and give it 0', () => {
    const { advantage, use } = judge({ reward: [1, null, 0], group: [0, 0, 0] });
    const [a, missing, b] = advantage;
    expect([missing, a + b]).toEqual([0, 0]);
    expect(a).toBeCloseTo(0.5 / (Math.SQRT1_2 + 1e-4), 12);
    expect(use).toEqual(['train', 'skip', 'train']);
  });

  it('drop and count a group with fewer than two rewards', () => {
    const { use, metrics } = judge({ reward: [null, 1, 0, 1], group: [0, 0, 1, 1] });
    expect(use).toEqual(['drop', 'drop', 'train', 'train']);
    expect(metrics['reward/dropped_groups']).toBe(1);
  });

  it('of cut-off answers count in the comparison, but are not learnt', () => {
    const r = { reward: [1, 0], group: [0, 0], truncated: [false, true] };
    expect(judge(r)).toMatchObject({ learns: [true, false], use: ['train', 'skip'] });
    expect(judge(r, { maskTruncated: false })).toMatchObject({
      learns: [true, true],
      use: ['train', 'train'],
    });
  });

  it('near the length limit lose up to 1, linearly', () => {
    const r = { reward: [1, 1, 1, 0], group: [0, 0, 0, 0], length: [90, 95, 100, 10] };
    const shaped = judge(r, { maxNewTokens: 100, overlongBuffer: 10, scale: 'none' }).advantage;
    // rewards 1, 0.5, 0, 0
    expect(shaped.map((a) => a + 0.375)).toEqual([1, 0.5, 0, 0]);
    expect(
      judge(
        { ...r, truncated: [false, false, true, false], length: [1, 1, 100, 1] },
        { overlongBuffer: 10, maxNewTokens: 100, scale: 'none' },
      ).advantage[2],
    ).toBeLessThan(0);
  });

  it('sum to 0 in each group at any scale', () => {
    for (const scale of ['group', 'batch', 'none']) {
      const { advantage } = judge({ reward: [3, 1, 2, 9, 9, 0.5], group: [0, 0, 0, 1, 1, 1] }, { scale });
      expect(advantage[0] + advantage[1] + advantage[2]).toBeCloseTo(0, 12);
      expect(advantage[3] + advantage[4] + advantage[5]).toBeCloseTo(0, 12);
    }
  });
});

describe('GRPO loss', () => {
  it.each(['cispo', 'sapo', 'vespo'])(
    '%s has the gradient of plain policy gradient before the first update',
    (objective) => {
      const { gradients } = batch({ objective });
      [0, -1 / 3, -1 / 3, 0, 1 / 3].forEach((g, i) => expect(gradients.logp[i]).toBeCloseTo(g, 6));
    },
  );

  it('against the old policy weighs each token by a bounded ratio to the sampler', () => {
    const oldLogp = [0, -0.5, -2, 0, -0.7];
    const samplerLogp = [0, -0.5, -2 - Math.log(3), 0, -0.7 - Math.log(1.5)];
    const at = (correction: string) => [...batch({ correction }, { oldLogp, samplerLogp }).gradients.logp];
    at('truncated').forEach((g, i) => expect(g).toBeCloseTo([0, -1 / 3, -2 / 3, 0, 1.5 / 3][i], 12));
    at('masked').forEach((g, i) => expect(g).toBeCloseTo([0, -1 / 3, 0, 0, 1.5 / 3][i], 12));
  });

  it('can learn from the most uncertain tokens alone', () => {
    const { gradients } = batch({ entropyShare: 0.5 });
    expect(gradients.logp.map((g) => Math.sign(g))).toEqual(Float64Array.of(0, 0, -1, 0, 1));
  });

  it('before the first update: ratio 1, nothing clipped, gradient -A / tokens', () => {
    const { gradients, metrics } = batch();
    expect([...gradients.logp]).toEqual([0, -1 / 3, -1 / 3, 0, 1 / 3]);
    expect(metrics).toMatchObject({
      'policy/ratio': 1,
      'policy/sampler_mismatch': 0,
      'policy/clip_low': 0,
      'policy/clip_high': 0,
      'policy/entropy': 2,
    });
  });

  it('has no gradient where advantages are 0', () => {
    expect([...batch({}, { advantage: [0, 0], samplerLogp: [0, 0, 0, 0, 0] }).gradients.logp]).toEqual([
      0, 0, 0, 0, 0,
    ]);
  });

  it('uses the ratio to the sampler, not to itself: a token far above it stops being pushed up', () => {
    const { gradients, metrics } = batch({}, { samplerLogp: [0, -1.5, -2, 0, -0.7] });
    expect(gradients.logp[1]).toBe(0);
    expect(metrics['policy/clip_high']).toBeCloseTo(1 / 3, 12);
  });

  it('with beta pulls to the reference: KL is 0 where equal, never negative, and its gradient lowers it', () => {
    const at = (refLogp: number[]) => batch({ beta: 1 }, { advantage: [0, 0], refLogp });
    const equal = at([0, -0.5, -2, 0, -0.7]);
    expect(equal.metrics['policy/kl']).toBe(0);
    expect(equal.gradients.logp.every((g) => g === 0)).toBe(true);
    const apart = at([0, -1.5, -1, 0, -0.7]);
    expect(apart.metrics['policy/kl']).toBeGreaterThan(0);
    expect(apart.gradients.logp[1]).toBeGreaterThan(0); // logp above the reference: descent lowers it
    expect(apart.gradients.logp[2]).toBeLessThan(0);
  });

  it.each([
    ['grpo', [0, -1 / 4, -1 / 4, 0, 1 / 2]],
    ['bnpo', [0, -1 / 3, -1 / 3, 0, 1 / 3]],
    ['dapo', [0, -1 / 6, -1 / 6, 0, 1 / 6]],
    ['dr_grpo', [0, -1 / 20, -1 / 20, 0, 1 / 20]],
  ])('normalised as %s', (normalisation, expected) => {
    const { gradients } = batch({ normalisation, maxNewTokens: 10 }, { meanStepTokens: [6] });
    gradients.logp.forEach((g, i) => expect(g).toBeCloseTo(expected[i], 12));
  });

  it('asks for the reference only with beta', () => {
    expect(grpo.needs(params()).roles).toEqual(['policy']);
    expect(grpo.needs(params({ beta: 0.04 })).roles).toEqual(['policy', 'reference']);
    expect(grpoLoss(params()).inputs.map((i) => i.name)).not.toContain('refLogp');
  });
});

it('a bound of the ratio that would stop good answers below the clip is refused', () => {
  const parsed = grpo.params.safeParse({ ratioCap: 1.2 });
  expect(parsed.error?.issues[0]).toMatchObject({ path: ['ratioCap'] });
  expect(grpo.params.safeParse({ ratioCap: 4 }).success).toBe(true);
});
