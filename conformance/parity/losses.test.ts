// Cases 1 to 8 of the README's table: values that AReno 0.10.0's own functions give, where ours should agree; where
// they should not, the name says why.
import { describe, expect, it } from 'vitest';
import { groupRelative } from '../../shared/algorithms/advantages/group-advantages';
import {
  generalisedAdvantages,
  klEstimate,
  type KlKind,
} from '../../shared/algorithms/advantages/token-advantages';
import { dpoLoss } from '../../shared/algorithms/dpo';
import { grpoLoss } from '../../shared/algorithms/grpo';
import { gspoLoss } from '../../shared/algorithms/gspo';
import { ppo, ppoLoss } from '../../shared/algorithms/ppo';
import { sftLoss } from '../../shared/algorithms/sft';
import { evaluateProgram, type EvaluationInput, type LossProgram } from '../../shared/program';

const close = (got: ArrayLike<number>, want: number[], digits = 6) => {
  expect(got.length).toBe(want.length);
  want.forEach((x, k) => expect(got[k]).toBeCloseTo(x, digits));
};

describe('1: group advantages', () => {
  const at = (...groups: number[][]) => ({
    reward: groups.flat(),
    group: groups.flatMap((members, k) => members.map(() => k)),
  });

  it('divided by the standard deviation of a sample, unbiased: AReno’s are larger by sqrt(n / (n - 1)) and by its smaller epsilon', () => {
    const unbiased = (n: number) => Math.sqrt((n - 1) / n);
    close(groupRelative(at([1, 2, 3]), 'group', 0), [-1.2247448 * unbiased(3), 0, 1.2247448 * unbiased(3)]);
    close(groupRelative(at([0, 1]), 'group', 0), [-unbiased(2), unbiased(2)]);
    close(
      groupRelative(at([1, 0, 0, 0]), 'group', 0),
      [1.7320509, -0.5773503, -0.5773503, -0.5773503].map((x) => x * unbiased(4)),
    );
    close(groupRelative(at([1, 2, 3], [0, 1]), 'group', 0), [
      ...[-1.224745, 0, 1.224745].map((x) => x * unbiased(3)),
      ...[-1, 1].map((x) => x * unbiased(2)),
    ]);
  });

  it('of equal rewards, of one reward and of none are 0', () => {
    expect(groupRelative(at([3, 3, 3]), 'group')).toEqual([0, 0, 0]);
    expect(groupRelative(at([5]), 'group')).toEqual([0]);
    expect(groupRelative(at(), 'group')).toEqual([]);
  });
});

it('2: generalised advantages and returns', () => {
  const one = generalisedAdvantages({ reward: [0, 1], mask: [1, 1] }, [0.2, 0.3], 1, 1);
  close(one.advantage, [0.8, 0.7]);
  close(one.returns, [1, 1]);
  const two = generalisedAdvantages({ reward: [0, 0, 1], mask: [1, 1, 1] }, [0.2, 0.3, 0.5], 1, 0.95);
  close(two.advantage, [0.74125, 0.675, 0.5]);
  close(two.returns, [0.94125, 0.975, 1]);
  expect(() => generalisedAdvantages({ reward: [0, 1], mask: [1, 1] }, [0.2], 1, 1)).toThrow(
    'one value per reward',
  );
});

describe('3: GRPO', () => {
  const program = (normalisation: 'bnpo' | 'grpo') =>
    grpoLoss({
      objective: 'clip',
      clipLow: 0.2,
      clipHigh: 0.2,
      normalisation,
      maxNewTokens: 8,
      beta: 0,
      entropyBonus: 0,
    });
  const given = (more: Partial<EvaluationInput['inputs']>, targets = [3]): EvaluationInput => ({
    targets,
    inputs: {
      loss: [0, 1, 1],
      logp: [0, -0.2, -0.3],
      samplerLogp: [0, -0.2, -0.3],
      entropy: [0, 0, 0],
      ...more,
    } as EvaluationInput['inputs'],
    gradients: ['logp'],
  });
  const evaluate = (p: LossProgram, g: EvaluationInput) =>
    evaluateProgram(p, {
      ...g,
      inputs: Object.fromEntries(p.inputs.map(({ name }) => [name, g.inputs[name]!])),
    });

  it('on the sampler’s own policy: loss, gradient, nothing beside the mask', () => {
    const { loss, gradients, metrics } = evaluate(program('bnpo'), given({ advantage: [1] }));
    expect(loss).toBeCloseTo(-1, 6);
    close(gradients['logp']!, [0, -0.5, -0.5]);
    expect(metrics['policy/ratio']).toBeCloseTo(1, 12);
  });

  it('a mean over tokens of two sequences, not of their means', () => {
    const two = given({ loss: [1, 1, 1], advantage: [1, -1] }, [2, 1]);
    const { loss, gradients } = evaluate(program('bnpo'), two);
    expect(loss).toBeCloseTo(-1 / 3, 6);
    close(gradients['logp']!, [-1 / 3, -1 / 3, 1 / 3]);
  });

  it('off the sampler’s policy has the true ratio, where AReno’s is always 1 and its clipping inert', () => {
    const off = given({ samplerLogp: [0, -0.3, -0.4], advantage: [1] });
    const { loss, metrics } = evaluate(program('bnpo'), off);
    expect(loss).toBeCloseTo(-Math.exp(0.1), 6);
    expect(metrics['policy/ratio']).toBeCloseTo(Math.exp(0.1), 6);
    expect(metrics['policy/sampler_mismatch']).toBeCloseTo(0.1, 6);
    const far = given({ samplerLogp: [0, -0.8, -0.9], advantage: [1] });
    const clipped = evaluate(program('bnpo'), far);
    expect(clipped.loss).toBeCloseTo(-1.2, 6);
    close(clipped.gradients['logp']!, [0, 0, 0]);
  });
});

describe('4: GSPO', () => {
  const program = gspoLoss({
    level: 'sequence',
    clipLow: 3e-4,
    clipHigh: 3e-4,
    normalisation: 'grpo',
    maxNewTokens: 8,
    beta: 0,
    entropyBonus: 0,
  });
  const evaluate = (g: EvaluationInput) =>
    evaluateProgram(program, {
      ...g,
      gradients: ['logp'],
      inputs: Object.fromEntries(
        program.inputs.map(({ name }) => [name, g.inputs[name] ?? g.inputs['loss']!]),
      ),
    });

  it('two sequences on the sampler’s own policy', () => {
    const logp = [0, -0.2, -0.3];
    const inputs = { loss: [1, 1, 1], logp, samplerLogp: logp, advantage: [1, -1] };
    const { loss, gradients } = evaluate({ targets: [2, 1], inputs });
    expect(loss).toBeCloseTo(0, 6);
    close(gradients['logp']!, [-0.25, -0.25, 0.5]);
  });

  it('all turns of a trajectory are one sequence', () => {
    const logp = [-0.5, -0.1, -0.5, -0.2, -0.3, -0.4];
    const inputs = { loss: [0, 1, 0, 1, 1, 1], logp, samplerLogp: logp, advantage: [-1, 1] };
    const { gradients } = evaluate({ targets: [2, 3, 1], trajectories: [0, 0, 1], inputs });
    close(gradients['logp']!, [0, 1 / 6, 0, 1 / 6, 1 / 6, -1 / 2]);
  });
});

it('5: the PPO policy loss with dual clip, with and without KL', () => {
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

it('6: the kinds of KL; another is no setting', () => {
  const difference = [0.1, -0.1];
  const of = (kind: KlKind) => difference.map((d) => klEstimate(kind, d));
  close(of('k1'), [0.1, -0.1]);
  close(of('abs'), [0.1, 0.1]);
  close(of('k2'), [0.005, 0.005]);
  close(of('k3'), [0.0048374, 0.0051709]);
  expect(ppo.params.safeParse({ klKind: 'unknown' }).success).toBe(false);
});

describe('7: DPO', () => {
  const evaluate = (beta: number, labelSmoothing: number) => {
    const program = dpoLoss({
      loss: 'sigmoid',
      beta,
      labelSmoothing,
      discopopTau: 0.05,
      sftWeight: 0,
      beyondShorter: 1,
      divergence: 'reverse_kl',
    });
    return evaluateProgram(program, {
      targets: [2, 2],
      inputs: {
        loss: [1, 1, 1, 1],
        logp: [-0.1, -0.1, -1, -1],
        refLogp: [-0.2, -0.2, -0.2, -0.2],
        entropy: [0, 0, 0, 0],
      },
    });
  };

  it('of one pair, with and without smoothing', () => {
    const { loss, metrics } = evaluate(1, 0);
    expect(loss).toBeCloseTo(0.152978, 6);
    expect(metrics['preference/margin']).toBeCloseTo(1.8, 6);
    expect(metrics['preference/chosen']).toBeCloseTo(0.2, 6);
    expect(metrics['preference/rejected']).toBeCloseTo(-1.6, 6);
    expect(metrics['preference/accuracy']).toBe(1);
    expect(evaluate(0.1, 0.1).loss).toBeCloseTo(0.625192, 6);
  });

  it('of an odd number of rows is refused', () => {
    const program = dpoLoss({
      loss: 'sigmoid',
      beta: 1,
      labelSmoothing: 0,
      discopopTau: 0.05,
      sftWeight: 0,
      beyondShorter: 1,
      divergence: 'reverse_kl',
    });
    const inputs = Object.fromEntries(program.inputs.map(({ name }) => [name, [0, 0, 0]]));
    expect(() => evaluateProgram(program, { targets: [1, 1, 1], inputs })).toThrow(/3 trajectories/);
  });
});

describe('8: SFT', () => {
  const evaluate = (targets: number[], loss: number[], logp: number[]) =>
    evaluateProgram(sftLoss(), {
      targets,
      inputs: { loss, logp, entropy: loss.map(() => 0) },
      gradients: ['logp'],
    });

  it('is a mean over the tokens that are learnt, with nothing for the others', () => {
    const one = evaluate([3], [0, 1, 1], [-5, -0.25, -0.75]);
    expect(one.loss).toBeCloseTo(0.5, 6);
    close(one.gradients['logp']!, [0, -0.5, -0.5]);
    const hole = evaluate([3], [1, 0, 1], [-1, -100, -3]);
    expect(hole.loss).toBeCloseTo(2, 6);
    close(hole.gradients['logp']!, [-0.5, 0, -0.5]);
  });

  it('counts tokens over the whole update, however it is split: 2.5, not a mean of means', () => {
    expect(evaluate([1, 3], [1, 1, 1, 1], [-1, -3, -3, -3]).loss).toBeCloseTo(2.5, 6);
  });
});
