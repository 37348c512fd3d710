import { describe, expect, it } from 'vitest';
import { evaluateProgram } from '../program';
import { generalisedAdvantages, klEstimate, type KlKind } from './advantages/token-advantages';
import type { Rollouts } from './algorithm';
import { criticLoss, ppo, ppoLoss } from './ppo';

const close = (actual: ArrayLike<number>, expected: number[], digits = 6) =>
  expected.forEach((x, i) => expect(actual[i]).toBeCloseTo(x, digits));

/** AReno 0.10.0's own functions gave these values (tests/test_ppo). */
describe('parity with AReno', () => {
  it('in generalised advantages', () => {
    const of = (reward: number[], value: number[], lambda: number) =>
      generalisedAdvantages({ reward, mask: reward.map(() => 1) }, value, 1, lambda);
    const two = of([0, 1], [0.2, 0.3], 1);
    close(two.advantage, [0.8, 0.7]);
    close(two.returns, [1, 1]);
    const three = of([0, 0, 1], [0.2, 0.3, 0.5], 0.95);
    close(three.advantage, [0.74125, 0.675, 0.5]);
    close(three.returns, [0.94125, 0.975, 1]);
    expect(() => of([0, 1], [0.2], 1)).toThrow('one value per reward');
  });

  it('in the policy loss with dual clip, with and without KL', () => {
    const settings = { clipLow: 0.2, clipHigh: 0.2, dualClip: 3, klIn: 'loss', klKind: 'k3' } as const;
    const run = (
      klWeight: number,
      logp: number[],
      oldLogp: number[],
      advantage: number[],
      refLogp?: number[],
    ) =>
      evaluateProgram(ppoLoss({ ...settings, klWeight }), {
        targets: [logp.length],
        inputs: {
          loss: logp.map(() => 1),
          logp,
          oldLogp,
          samplerLogp: oldLogp,
          tokenAdvantage: advantage,
          entropy: logp.map(() => 0),
          ...(refLogp && { refLogp }),
        },
        gradients: ['logp'],
      });
    const plain = run(0, [-0.5, -1.5, -0.5, 0.6], [-1, -1, -1, -1], [1, 1, -1, -1]);
    expect(plain.loss).toBeCloseTo(0.710548, 6);
    close(plain.gradients['logp']!, [0, -0.151633, 0.41218, 0]);
    expect(plain.metrics['policy/clip_high']).toBe(0.25);
    const held = run(0.01, [-0.2, -0.45], [-0.3, -0.4], [1, -1], [-0.25, -0.35]);
    expect(held.metrics['policy/kl']).toBeCloseTo(0.0032, 4);
    expect(held.loss).toBeCloseTo(-0.076939, 6);
  });

  it('in the kinds of KL', () => {
    const difference = [0.1, -0.1];
    const of = (kind: KlKind) => difference.map((d) => klEstimate(kind, d));
    close(of('k1'), [0.1, -0.1]);
    close(of('abs'), [0.1, 0.1]);
    close(of('k2'), [0.005, 0.005]);
    close(of('k3'), [0.0048374, 0.0051709]);
    expect(ppo.params.safeParse({ klKind: 'unknown' }).success).toBe(false);
  });
});

describe('a judged step', () => {
  const rollouts = (): Rollouts => ({
    reward: [1, 0, null, 1],
    group: [0, 1, 2, 3],
    truncated: [false, false, false, true],
    length: [3, 2, 2, 2],
    samplerLogp: [3, 2, 2, 2].map((n) => new Float32Array(n).fill(-1)),
    refLogp: [3, 2, 2, 2].map((n) => new Float32Array(n).fill(-1.5)),
    value: [3, 2, 2, 2].map((n) => new Float32Array(n).fill(0.25)),
  });
  const params = (more = {}) => ppo.params.parse({ klWeight: 0, lambda: 1, ...more });

  it('drops what has no reward, learns not from what was cut off, and whitens the rest', () => {
    const { use, learns, advantage, returns } = ppo.advantages!(rollouts(), params());
    expect(use).toEqual(['train', 'train', 'drop', 'skip']);
    expect(learns).toEqual([true, true, true, false]);
    close(returns![0]!, [1, 1, 1]);
    const learnt = [...(advantage[0] as Float32Array), ...(advantage[1] as Float32Array)];
    expect(learnt.reduce((a, b) => a + b, 0)).toBeCloseTo(0, 5);
    expect(advantage[0]).toHaveLength(3);
  });

  it('takes the KL off the reward of each token', () => {
    const { returns } = ppo.advantages!(rollouts(), params({ klWeight: 0.1 }));
    close(returns![0]!, [1 - 0.15, 1 - 0.1, 1 - 0.05]);
  });

  it('refuses a warm-up in which the policy learns nothing', () => {
    const { error } = ppo.params.safeParse({ steps: 5, criticWarmup: 5 });
    expect(error!.issues[0].path).toEqual(['criticWarmup']);
  });
});

it('clips the critic only where that is asked for', () => {
  const given = (o: { valueClip: number }) =>
    evaluateProgram(criticLoss(o), {
      targets: [1],
      inputs: { loss: [1], value: [1], returns: [1], ...(o.valueClip > 0 && { oldValue: [0] }) },
      gradients: ['value'],
    });
  expect(given({ valueClip: 0 }).loss).toBe(0);
  expect(given({ valueClip: 0.2 }).loss).toBeCloseTo(0.5 * 0.8 ** 2, 6);
});
