import { expect, it } from 'vitest';
import { algorithmByKey } from '../../../shared/algorithms';
import { extraForwards, type Rates } from '../train';
import { costsOf } from './cost-model';

const rates: Rates = {
  decodeFixed: 0.01,
  decodePerRow: 0.001,
  prefillPerToken: 0.0001,
  meanLength: 10,
  longest: 20,
  limit: 64,
  complete: true,
  trainedShare: 1,
  trainPerToken: 0.003,
  samplingPerToken: 100,
  trainingPerToken: 1000,
  adapterPerRank: 1000,
};

function costs(key: string, params: object, heldOut = 0, more: Partial<Rates> = {}, model: object = {}) {
  const algorithm = algorithmByKey(key)!;
  const parsed = algorithm.params.parse(params);
  const needs = algorithm.needs(parsed);
  return costsOf(
    { weightBytes: 1e6, parameters: 250_000, dtype: 'f32', ...model },
    { ...rates, ...more },
    {
      needs,
      rowTokens: 100,
      forwards: extraForwards(needs, algorithm.losses(parsed).policy),
      rank: 8,
      full: parsed['method'] === 'full',
      optimizer: parsed['optimizer'] as never,
      steps: 10,
      heldOut,
      microTokens: 4096,
      keepCheckpoints: 2,
    },
  );
}

/** Seconds of a step in forwards and backwards of one row: a forward alone is a third. */
const rowsWorth = (key: string, params: object) =>
  costs(key, params).secondsPerStep / (100 * rates.trainPerToken);

it.each([
  ['sft', {}, 4],
  ['simpo', {}, 8],
  ['dpo', {}, 8 + 8 / 3],
  // the reference of the rows, and both of the mismatched ones
  ['kto', {}, 4 + 4],
  ['kto', { loss: 'apo_zero_unpaired' }, 4 + 4 / 3],
])('a step of %s %j takes what its rows and other policies take', (key, params, rows) => {
  expect(rowsWorth(key, { batchSize: 4, ...params })).toBeCloseTo(rows, 9);
});

it('rollouts cost their sampling, each pass, and the policies that they are compared with', () => {
  const seconds = (key: string, params: object = {}) =>
    costs(key, { prompts: 2, groupSize: 4, maxNewTokens: 64, ...params }).secondsPerStep;
  const once = 8 * 110 * rates.trainPerToken;
  const plain = 2 * 100 * 0.0001 + 20 * 0.01 + 8 * 10 * 0.001 + once;
  expect(seconds('grpo')).toBeCloseTo(plain, 9);
  expect(seconds('grpo', { passes: 3 })).toBeCloseTo(plain + 2 * once, 9);
  expect(seconds('grpo', { beta: 0.1 })).toBeCloseTo(plain + once / 3, 9);
  expect(seconds('grpo', { correction: 'masked', beta: 0.1 })).toBeCloseTo(plain + (2 * once) / 3, 9);
  expect(seconds('rloo')).toBeCloseTo(plain + once / 3, 9);
  expect(seconds('rloo', { klInReward: 0 })).toBeCloseTo(plain, 9);
});

it('held-out prompts are answered twice before and twice after; where there are none, only the steps take time', () => {
  const of = (heldOut: number) => {
    const { totalSeconds, secondsPerStep } = costs('grpo', { maxNewTokens: 64 }, heldOut);
    return totalSeconds - 10 * secondsPerStep;
  };
  expect(of(0)).toBeCloseTo(0, 9);
  expect(of(3)).toBeCloseTo(4 * (3 * 100 * 0.0001 + 20 * 0.01 + 3 * 10 * 0.001), 9);
});

it('a step of more answers than are decoded at once takes their time, and no more memory', () => {
  const of = (prompts: number) => costs('grpo', { prompts, groupSize: 8, maxNewTokens: 64 });
  const [some, many] = [of(32), of(64)];
  expect(many.memory.cache).toBe(some.memory.cache);
  expect(some.memory.cache).toBeCloseTo(256 * 120 * rates.samplingPerToken, 6);
  // 512 answers of 10 tokens: at least 20 decoding steps
  expect(many.secondsPerStep - 2 * some.secondsPerStep).toBeCloseTo(-20 * rates.decodeFixed, 9);
});

it('a run cannot do without weights, adapter, training and one answer; the other answers may wait', () => {
  const { memory, leastBytes } = costs('grpo', { prompts: 64, groupSize: 8, maxNewTokens: 64 });
  expect(memory.total).toBeCloseTo(1e6 + 8000 * 12 + 4096 * rates.trainingPerToken, 6);
  expect(leastBytes).toBeCloseTo(memory.total, 6);
  const wide = costs('grpo', { prompts: 64, groupSize: 8, maxNewTokens: 64 }, 0, { samplingPerToken: 1e6 });
  expect(wide.memory.total).toBeCloseTo(1e6 + 8000 * 12 + 256 * 120 * 1e6, 0);
  expect(wide.leastBytes).toBeCloseTo(1e6 + 8000 * 12 + 120 * 1e6, 0);
});
