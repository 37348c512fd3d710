import { describe, expect, it } from 'vitest';
import { evaluateProgram, type LossProgram } from '../program';
import { algorithmByKey } from './index';
import type { Judgement, Rollouts } from './algorithm';

const judge = (
  key: string,
  r: Partial<Rollouts> & Pick<Rollouts, 'reward' | 'group'>,
  p: object = {},
): Judgement => {
  const algorithm = algorithmByKey(key)!;
  const rest = {
    truncated: r.reward.map(() => false),
    length: r.reward.map(() => 2),
    samplerLogp: r.reward.map(() => Float32Array.of(-1, -1)),
  };
  return algorithm.advantages!({ ...rest, ...r }, algorithm.params.parse(p));
};

const gradient = (program: LossProgram, given: Record<string, number[]>, targets: number[]) => [
  ...evaluateProgram(program, {
    targets,
    inputs: Object.fromEntries(program.inputs.map(({ name }) => [name, given[name]!])),
    gradients: ['logp'],
  }).gradients['logp']!,
];

describe('GSPO', () => {
  const gspo = algorithmByKey('gspo')!;
  const given = {
    loss: [1, 1, 1, 0],
    logp: [-1, -2, -0.5, -9],
    samplerLogp: [-1.0002, -2.0003, -0.5, 0],
    entropy: [0, 0, 0, 0],
    advantage: [1, -1],
  };
  const at = (p: object, more: object = {}) =>
    gradient(gspo.losses(gspo.params.parse(p)).policy, { ...given, ...more }, [2, 2]);

  it('limits whole answers: both tokens of one beyond its bound stop together, though one token alone is within', () => {
    expect(at({ clipHigh: 2e-4 })).toEqual([0, 0, expect.closeTo(0.5, 6), 0]);
    expect(at({ clipHigh: 1e-3 })[0]).toBeLessThan(0);
  });

  it('its token form has the gradient of the sequence form where an answer has one advantage', () => {
    const [sequence, token] = ['sequence', 'token'].map((level) => at({ level }));
    sequence!.forEach((g, t) => expect(token![t]).toBeCloseTo(g, 12));
  });
});

describe('RLOO', () => {
  it('compares with the mean of the others', () => {
    expect(judge('rloo', { reward: [1, 0, 0, 1], group: [0, 0, 0, 1] }, { klInReward: 0 })).toMatchObject({
      advantage: [1, -0.5, -0.5, 0],
      use: ['train', 'train', 'train', 'drop'],
    });
  });

  it('takes the KL of the whole answer off its reward, and asks for the reference then', () => {
    const refLogp = [Float32Array.of(-2, -1), Float32Array.of(-1, -1)];
    const { advantage, metrics } = judge(
      'rloo',
      { reward: [1, 1], group: [0, 0], refLogp },
      { klInReward: 0.5 },
    );
    expect(advantage).toEqual([-0.5, 0.5]);
    expect(metrics['reward/zero_variance']).toBe(1);
    const rloo = algorithmByKey('rloo')!;
    expect(rloo.needs(rloo.params.parse({}))).toMatchObject({
      roles: ['policy', 'reference'],
      judgesReference: true,
    });
    expect(rloo.needs(rloo.params.parse({ klInReward: 0 })).roles).toEqual(['policy']);
  });
});

describe('REINFORCE++', () => {
  const tokens = ({ advantage }: Judgement) => advantage.map((a) => Array.from(a as Float32Array));

  it('whitens over the tokens of the step: mean 0, spread 1', () => {
    const all = tokens(judge('reinforce_plus_plus', { reward: [1, 0, 0, 0], group: [0, 0, 1, 1] })).flat();
    const mean = all.reduce((s, x) => s + x, 0) / all.length;
    const variance = all.reduce((s, x) => s + (x - mean) ** 2, 0) / (all.length - 1);
    expect(mean).toBeCloseTo(0, 6);
    expect(variance).toBeCloseTo(1, 6);
  });

  it('discounts from the end', () => {
    const [first, last] = tokens(
      judge(
        'reinforce_plus_plus',
        { reward: [1, 0], group: [0, 1], length: [2, 2] },
        { groupSize: 1, discount: 0.5, prompts: 2 },
      ),
    )[0]!;
    expect(last).toBeGreaterThan(first!);
  });

  it('leaves out what has no reward, and with one answer a prompt needs no group', () => {
    expect(
      judge('reinforce_plus_plus', { reward: [1, null, 0], group: [0, 1, 2] }, { groupSize: 1 }),
    ).toMatchObject({
      use: ['train', 'drop', 'train'],
      metrics: { 'reward/dropped_groups': 1 },
    });
    const { error } = algorithmByKey('reinforce_plus_plus')!.params.safeParse({
      groupSize: 1,
      baseline: 'group',
    });
    expect(error!.issues[0]!.path).toEqual(['groupSize']);
  });
});

describe('preference losses', () => {
  const given = {
    loss: [0, 1, 0, 1],
    logp: [-1, -2, -1, -3],
    refLogp: [0, -2, 0, -3],
    entropy: [0, 0, 0, 0],
    chosen: [1, 0],
    chosenTokens: [1, 1, 0, 0],
    label: [1, 0],
    mismatchedLogRatio: [0, 0],
  };
  const at = (key: string, p: object = {}) => {
    const algorithm = algorithmByKey(key)!;
    const program = algorithm.losses(algorithm.params.parse(p)).policy;
    return evaluateProgram(program, {
      targets: [2, 2],
      inputs: Object.fromEntries(program.inputs.map(({ name }) => [name, given[name as keyof typeof given]])),
      gradients: ['logp'],
    });
  };

  it('DPO before the first update: ln 2, and the gradient lifts the better answer as it lowers the worse', () => {
    const { loss, gradients } = at('dpo');
    expect(loss).toBeCloseTo(Math.LN2, 12);
    expect([...gradients['logp']!]).toEqual([0, expect.closeTo(-0.05, 12), 0, expect.closeTo(0.05, 12)]);
  });

  it('KTO before the first update: half of each weight', () => {
    expect(at('kto', { desirableWeight: 2, undesirableWeight: 1 }).loss).toBeCloseTo((2 * 0.5 + 0.5) / 2, 12);
  });

  it('ORPO learns the whole better row, its prompt too', () => {
    const { gradients, metrics } = at('orpo');
    expect(metrics['train/nll']).toBeCloseTo(1.5, 12);
    expect(gradients['logp']![0]).toBeCloseTo(-0.5, 12);
  });

  it('SimPO asks for no reference and wants its margin', () => {
    const algorithm = algorithmByKey('simpo')!;
    expect(algorithm.needs(algorithm.params.parse({})).roles).toEqual(['policy']);
    // lead 1 per token, beta 2, margin 1: -log sigmoid(2 - 1)
    expect(at('simpo').loss).toBeCloseTo(Math.log1p(Math.exp(-1)), 12);
  });
});
