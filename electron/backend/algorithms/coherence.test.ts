import { describe, expect, test } from 'vitest';
import { aboutOf, algorithmByKey, type Algorithm, type Needs } from '../../../shared/algorithms';
import type { AlgorithmInfo } from '../../../shared/contract/algorithms';
import { ProgramBuilder } from '../../../shared/program';
import { requireCoherence, type Parts } from './coherence';
import { tryAlgorithm } from './trial';

function partsOf(key: string): Parts & { algorithm: Algorithm } {
  const algorithm = algorithmByKey(key)!;
  const params = algorithm.params.parse({});
  return {
    algorithm,
    params,
    info: aboutOf(algorithm) as AlgorithmInfo,
    needs: algorithm.needs(params),
    losses: algorithm.losses(params),
  };
}

const needing = (key: string, more: Partial<Needs>) => {
  const parts = partsOf(key);
  return { ...parts, needs: { ...parts.needs, ...more } };
};

/** With a loss that asks for one thing more. */
function asking(key: string, build: (p: ProgramBuilder) => void): Parts {
  const p = new ProgramBuilder();
  const loss = p.mask('loss', 'T');
  p.loss('nll', p.engine('logp', loss), p.sequences());
  build(p);
  return { ...partsOf(key), losses: { policy: p.build() } };
}

const sum = (p: ProgramBuilder, value: ReturnType<ProgramBuilder['engine']>) =>
  p.loss('more', value, p.sequences());

describe('what an algorithm says of itself must agree, before anything is loaded', () => {
  test.each<[string, Parts, RegExp]>([
    ['other data than it said', needing('sft', { data: 'pairs' }), /needs\.data must be the same/],
    [
      'answers without advantages',
      { ...partsOf('grpo'), info: { ...partsOf('grpo').info, rewarded: false } },
      /has no "advantages"/,
    ],
    [
      'advantages of no answers',
      { ...partsOf('sft'), info: { ...partsOf('sft').info, rewarded: true } },
      /has "advantages", .*"examples"/,
    ],
    ['no policy', needing('sft', { roles: [] }), /lacks "policy"/],
    ['a critic without its loss', { ...partsOf('ppo'), losses: partsOf('grpo').losses }, /a critic is three/],
    ['more updates than groups', needing('grpo', { minibatches: 5 }), /needs\.minibatches/],
    ['a million answers', needing('grpo', { prompts: 1_000_000 }), /answers a step/],
    [
      'lines of no length',
      needing('sft', { packs: true, maxTokens: undefined as never }),
      /needs\.maxTokens/,
    ],
    ['groups of rows', needing('dpo', { groupSize: 4 }), /needs\.groupSize is of rollouts/],
    [
      'a headline that nobody reports',
      { ...partsOf('sft'), info: { ...partsOf('sft').info, headline: 'a/b' } },
      /"a\/b" is none/,
    ],
    [
      'an input of rollouts',
      asking('sft', (p) => sum(p, p.data('advantage', 'S'))),
      /"advantage", which is of rollouts/,
    ],
    [
      'an input of another shape',
      asking('grpo', (p) => sum(p, p.data('advantage', 'T'))),
      /the shape T; it has S/,
    ],
    [
      'a reference that it does not need',
      asking('sft', (p) => sum(p, p.data('refLogp', 'T'))),
      /must have "reference"/,
    ],
    ['what nobody makes', asking('sft', (p) => sum(p, p.data('teacherLogp', 'T'))), /no trainer makes/],
    ['a value without a critic', asking('grpo', (p) => sum(p, p.engine('value'))), /only the critic/],
    ['a score without a head', asking('dpo', (p) => sum(p, p.engine('score'))), /needs\.scalarHead/],
    [
      'a teacher that it does not need',
      asking('sft', (p) => sum(p, p.engine('jsd', undefined, { beta: 0.5, temperature: 1 }))),
      /role "teacher"/,
    ],
    [
      'triples of pairs',
      asking('dpo', (p) => sum(p, p.engine('logp').segSum().part(0, 3))),
      /3 trajectories together, .* come 2 together/,
    ],
  ])('%s', (_, parts, why) => expect(() => requireCoherence(parts)).toThrow(why));

  test.each(['grpo', 'ppo', 'sft', 'dpo', 'kto', 'distill', 'reward_model'])('%s does', (key) =>
    expect(() => requireCoherence(partsOf(key))).not.toThrow(),
  );
});

describe('what is tried on one batch', () => {
  const { algorithm: grpo, params } = partsOf('grpo');
  const given = (advantage: (length: number, k: number) => number | Float32Array) =>
    tryAlgorithm(
      {
        ...grpo,
        advantages: ({ length }) => ({
          advantage: length.map(advantage),
          use: length.map(() => 'train'),
          learns: length.map(() => true),
          metrics: {},
        }),
      },
      params,
    );

  test('advantages of the kind that the loss asks for', async () => {
    await expect(given((length) => new Float32Array(length).fill(1))).rejects.toThrow(
      /ask for "tokenAdvantage"/,
    );
    await expect(given((length, k) => (k % 2 === 0 ? 1 : new Float32Array(length)))).rejects.toThrow(
      /others/,
    );
    await expect(given((_, k) => k % 3)).resolves.toMatchObject({ loss: expect.any(Number) as number });
  });

  test('a critic that learns', async () => {
    const { algorithm: ppo, params: of } = partsOf('ppo');
    const program = (build: (p: ProgramBuilder) => void) => {
      const p = new ProgramBuilder();
      build(p);
      return { ...ppo, losses: () => ({ policy: ppo.losses(of as never).policy, critic: p.build() }) };
    };
    const still = program((p) => p.loss('value', p.engine('value').stopGradient(), p.sequences()));
    await expect(tryAlgorithm(still, of)).rejects.toThrow(/critic's gradient .* is 0/);
    const broken = program((p) => p.loss('value', p.engine('value').over(p.constant(0)), p.sequences()));
    await expect(tryAlgorithm(broken, of)).rejects.toThrow(/critic/);
    await expect(tryAlgorithm(ppo, of)).resolves.toBeDefined();
  });
});
