import { describe, expect, it } from 'vitest';
import { RunConfig } from '../../../shared/contract/runs';
import { checkConfig } from './check-config';
import type { UsableModel } from './sources';
import { grpoRun, scriptedSources } from './testing';

async function problems(model: Partial<UsableModel>, config: object) {
  const sources = {
    ...scriptedSources,
    model: async (id: string) => ({ ...(await scriptedSources.model(id)), ...model }),
  };
  const none = (): never => {
    throw new Error('there are no other runs here');
  };
  return (
    await checkConfig(RunConfig.parse({ ...grpoRun(), ...config }), sources, { about: none, taught: none })
  ).problems;
}
const params = (more: object) => ({ params: { ...grpoRun().params, ...more } });

describe('a mixture of experts, before anything is loaded', () => {
  it('is not rounded', async () => {
    const asked = params({ baseWeights: '4-bit' });
    expect(await problems({ mixture: true }, asked)).toMatchObject([
      { level: 'error', path: 'params.baseWeights', message: expect.stringContaining('mixture of experts') },
    ]);
    expect(await problems({ mixture: false }, asked)).toEqual([]);
  });

  it('has no DoRA on its experts; elsewhere it does', async () => {
    const on = (loraTargets: string) => problems({ mixture: true }, params({ dora: true, loraTargets }));
    expect(await on('mlp')).toMatchObject([{ level: 'error', path: 'params.dora' }]);
    expect(await on('attention')).toEqual([]);
    expect(await on('all-linear')).toEqual([]);
  });
});

it.each(['q_proj', 'q_proj: 0', 'q_proj: 2.5'])(
  'ranks by module that are none, %s, are told',
  async (text) => {
    expect(await problems({}, params({ loraRanks: text }))).toMatchObject([
      {
        level: 'error',
        path: 'params.loraRanks',
        message: expect.stringContaining('whole numbers from 1 to 256'),
      },
    ]);
    expect(await problems({}, params({ loraRanks: 'q_proj: 4' }))).toEqual([]);
  },
);

it('routers are balanced where there are some', async () => {
  const sft = { algorithm: 'sft', params: { routerAuxCoef: 0.01, maxTokens: 64 }, rewards: [] };
  expect(await problems({ mixture: false }, sft)).toMatchObject([
    { level: 'error', path: 'params.routerAuxCoef', message: expect.stringContaining('no routers') },
  ]);
  expect(await problems({ mixture: true, softmaxRouters: false }, sft)).toMatchObject([
    { level: 'error', path: 'params.routerAuxCoef', message: expect.stringContaining('without a softmax') },
  ]);
  expect(await problems({ mixture: true, softmaxRouters: true }, sft)).toEqual([]);
});

it('packing is said to change nothing where rows carry a state', async () => {
  const sft = { algorithm: 'sft', params: { packing: true, maxTokens: 64 }, rewards: [] };
  expect(await problems({ packs: false }, sft)).toMatchObject([
    { level: 'warning', path: 'params.packing', message: expect.stringContaining('changes nothing') },
  ]);
  expect(await problems({ packs: true }, sft)).toEqual([]);
});

it.each(['topK', 'topP', 'minP', 'repetitionPenalty', 'presencePenalty'])(
  'rollouts are drawn from the distribution that is trained: %s is no setting of theirs',
  async (key) => {
    expect(await problems({}, params({ [key]: 0.5 }))).toMatchObject([
      { level: 'error', path: 'params', message: expect.stringContaining(key) },
    ]);
  },
);

describe('what is chosen and has no use', () => {
  const sft = { algorithm: 'sft', params: { maxTokens: 64 }, rewards: [] };

  it.each([
    ['rewards', { ...sft, rewards: [{ id: 'exact' }] }, 'SFT does not learn from rewards.'],
    [
      'rewardModel',
      { ...sft, rewardModel: { model: 'scripted' } },
      'SFT does not learn from a reward model.',
    ],
    ['teacher', { teacher: { model: 'other' } }, 'GRPO does not learn from a teacher.'],
  ])('%s of an algorithm that has none stop a run', async (path, config, message) => {
    expect(await problems({}, config)).toMatchObject([{ level: 'error', path, message }]);
  });

  it('a setting that does nothing under the others is told', async () => {
    expect(await problems({}, params({ objective: 'sapo', ratioCap: 2, lowestRate: 0.1 }))).toMatchObject([
      { level: 'warning', path: 'params.lowestRate', hint: 'It acts with "Linear", "Cosine".' },
      { level: 'warning', path: 'params.ratioCap', message: expect.stringContaining('Soft gate (SAPO)') },
    ]);
    expect(await problems({}, params({ schedule: 'linear', ratioCap: 2, lowestRate: 0.1 }))).toEqual([]);
    // as it comes
    expect(await problems({}, params({ objective: 'sapo', ratioCap: 0 }))).toEqual([]);
    const pairs = {
      algorithm: 'dpo',
      rewards: [],
      params: { maxTokens: 64, loss: 'apo_zero', divergence: 'forward_kl' },
    };
    expect(await problems({}, pairs)).toMatchObject([{ level: 'warning', path: 'params.divergence' }]);
    const ppo = (klWeight: number) => ({
      algorithm: 'ppo',
      params: { klWeight, klKind: 'k3', maxNewTokens: 64 },
    });
    expect(await problems({}, ppo(0))).toMatchObject([
      { level: 'warning', path: 'params.klKind', hint: 'It acts where that is above 0.' },
    ]);
    expect(await problems({}, ppo(0.1))).toEqual([]);
  });
});
