import { describe, expect, it } from 'vitest';
import type { RewardStatus } from '../../../shared/contract/rewards';
import { addUp, rewardHash } from './reward-sum';

type Given = number | RewardStatus;

/** A reward that gives each sample what stands at its place. */
const fixed = (name: string, weight: number, given: Given[]) => ({
  name,
  weight,
  scorer: { hash: name, takes: 'answer' as const, score: () => Promise.reject(new Error('not called')) },
  scores: given.map((value) =>
    typeof value === 'number'
      ? { reward: value, status: 'ok' as const, milliseconds: 1 }
      : { reward: null, status: value, milliseconds: 1, ...(value === 'error' ? { error: 'boom' } : {}) },
  ),
});

const score = (rewards: ReturnType<typeof fixed>[], groups: number[]) =>
  addUp(
    rewards,
    rewards.map(({ scores }) => scores),
    groups,
  );

describe('several rewards', () => {
  it('add up by their weights, and each part is kept', () => {
    const [first] = score([fixed('right', 1, [1]), fixed('short', -0.5, [0.4])], [0]);
    expect(first).toMatchObject({ reward: 0.8, status: 'ok', milliseconds: 2 });
    expect(first!.components).toEqual([
      { name: 'right', weight: 1, reward: 1, status: 'ok' },
      { name: 'short', weight: -0.5, reward: 0.4, status: 'ok' },
    ]);
  });

  it('one of weight 1 is its own sum, with nothing beside', () => {
    const [only] = score([fixed('right', 1, [0.25])], [0]);
    expect(only).toEqual({ reward: 0.25, status: 'ok', milliseconds: 1 });
  });

  it('one that abstains for a whole group does not apply there', () => {
    const scored = score(
      [fixed('maths', 1, [1, 0, 'abstain', 'abstain']), fixed('code', 2, ['abstain', 'abstain', 1, 0])],
      [0, 0, 1, 1],
    );
    expect(scored.map(({ reward }) => reward)).toEqual([1, 0, 2, 0]);
    expect(scored.map(({ status }) => status)).toEqual(['ok', 'ok', 'ok', 'ok']);
  });

  it('one that abstains for a part of a group leaves those answers out, never as 0', () => {
    const scored = score([fixed('a', 1, [1, 1]), fixed('b', 1, [1, 'abstain'])], [0, 0]);
    expect(scored.map(({ reward, status }) => [reward, status])).toEqual([
      [2, 'ok'],
      [null, 'abstain'],
    ]);
  });

  it('one that fails leaves the answer without a sum, and says which', () => {
    const scored = score([fixed('a', 1, [1, 1]), fixed('b', 1, ['error', 1])], [0, 0]);
    expect(scored[0]).toMatchObject({ reward: null, status: 'error', error: 'b: boom' });
    expect(scored[1]!.reward).toBe(2);
  });

  it('all that abstain are no opinion; a sum beyond f32 is none', () => {
    const [none] = score([fixed('a', 1, ['abstain']), fixed('b', 1, ['abstain'])], [0]);
    expect(none).toMatchObject({ reward: null, status: 'abstain' });
    const [large] = score([fixed('a', 1000, [3e38]), fixed('b', 1, [0])], [0]);
    expect(large).toMatchObject({ reward: null, status: 'nonfinite' });
  });

  it('have another identity with another weight', () => {
    const plain = fixed('a', 1, []);
    expect(rewardHash([plain])).toBe('a');
    expect(rewardHash([{ ...plain, weight: 2 }])).not.toBe(rewardHash([plain, fixed('b', 1, [])]));
  });
});
