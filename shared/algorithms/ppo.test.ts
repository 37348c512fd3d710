import { describe, expect, it } from 'vitest';
import { evaluateProgram } from '../program';
import type { Rollouts } from './algorithm';
import { criticLoss, ppo } from './ppo';

const close = (actual: ArrayLike<number>, expected: number[], digits = 6) =>
  expected.forEach((x, i) => expect(actual[i]).toBeCloseTo(x, digits));

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
