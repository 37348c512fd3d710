import { expect, it } from 'vitest';
import { algorithmByKey } from '../../../shared/algorithms';
import { extraForwards, type Rates } from '../train';
import { costsOf } from './cost-model';

/** 1,000 bytes a token, whatever the micro-batch, times `of`. */
const proportional = (of = 1) => ({
  measured: { lines: 100, length: 100, bytes: of * 10_000_000 },
  perToken: of * 1000,
  perPair: 0,
  move: 0,
});
const rates: Rates = {
  decodeFixed: 0.01,
  decodePerRow: 0.001,
  prefillPerToken: 0.0001,
  meanLength: 10,
  longest: 20,
  limit: 64,
  complete: true,
  trainedShare: 1,
  samplingPerRow: 0,
  samplingPerToken: 100,
  samplingHeld: 0,
  policy: { secondsPerToken: 0.003, bytes: proportional(), adapter: { perRank: 1000, fixed: 0 } },
  critic: null,
  scoring: null,
};

function costs(
  key: string,
  params: object,
  heldOut = 0,
  more: Partial<Rates> = {},
  model: object = {},
  shape: object = {},
) {
  const algorithm = algorithmByKey(key)!;
  const parsed = algorithm.params.parse(params);
  const needs = algorithm.needs(parsed);
  return costsOf(
    { weightBytes: 1e6, parameters: 250_000, dtype: 'f32', ...model },
    { ...rates, ...more },
    {
      needs,
      row: { mean: 100, longest: 100 },
      forwards: extraForwards(needs, algorithm.losses(parsed).policy),
      rank: 8,
      full: parsed['method'] === 'full',
      optimizer: parsed['optimizer'] as never,
      steps: 10,
      heldOut,
      microTokens: 4096,
      packed: null,
      keepCheckpoints: 2,
      prompt: parsed['onPolicy'] === undefined ? { mean: 100, longest: 100 } : { mean: 40, longest: 40 },
      others: 0,
      availableBytes: Infinity,
      devices: 1,
      ...shape,
    },
  );
}

/** Seconds of a step in forwards and backwards of one row: a forward alone is a third. */
const rowsWorth = (key: string, params: object) =>
  costs(key, params).secondsPerStep / (100 * rates.policy.secondsPerToken);

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
  const once = 8 * 110 * rates.policy.secondsPerToken;
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
  expect(memory.total).toBeCloseTo(
    // 34 rows of 120 tokens at once, and the sum of the gradients beside
    1e6 + 8000 * 12 + 34 * 120 * 1000 + 8000 * 4,
    6,
  );
  expect(leastBytes).toBeCloseTo(memory.total, 6);
  const wide = costs('grpo', { prompts: 64, groupSize: 8, maxNewTokens: 64 }, 0, { samplingPerToken: 1e6 });
  expect(wide.memory.total).toBeCloseTo(1e6 + 8000 * 12 + 256 * 120 * 1e6, 0);
  expect(wide.leastBytes).toBeCloseTo(1e6 + 8000 * 12 + 120 * 1e6, 0);
  // what is held however many rows there are is left out where it does not fit
  const held = (availableBytes: number) => {
    const params = { prompts: 64, groupSize: 8, maxNewTokens: 64 };
    return costs('grpo', params, 0, { samplingPerToken: 1e6, samplingHeld: 5e6 }, {}, { availableBytes });
  };
  expect(held(Infinity).memory.cache - wide.memory.cache).toBeCloseTo(5e6, 0);
  expect(held(wide.memory.total + 4e6).memory.total).toBeCloseTo(wide.memory.total, 0);
  expect(held(Infinity).leastBytes).toBeCloseTo(wide.leastBytes, 0);
});

it('a critic costs its updates, its adapter and its optimiser; the larger of the two updates is the peak', () => {
  const params = { prompts: 8, groupSize: 1, maxNewTokens: 64, passes: 2, minibatches: 1, klWeight: 0 };
  const critic = { secondsPerToken: 0.002, bytes: proportional(1.5), adapter: { perRank: 900, fixed: 50 } };
  const [without, with_] = [costs('ppo', params), costs('ppo', params, 0, { critic })];
  expect(with_.secondsPerStep - without.secondsPerStep).toBeCloseTo(8 * 110 * 0.002 * 2, 9);
  const numbers = 900 * 8 + 50;
  expect(with_.memory.adapter - without.memory.adapter).toBe(numbers * 4);
  expect(with_.memory.optimizer - without.memory.optimizer).toBe(numbers * 8);
  expect(with_.memory.total - without.memory.total).toBeCloseTo(numbers * 12 + 8 * 120 * 500, 6);
});

it('a reward model costs its weights, and its reading of every answer, held-out ones too', () => {
  const params = { prompts: 2, groupSize: 4, maxNewTokens: 64 };
  const scoring = { secondsPerToken: 0.001, bytesPerToken: 5000 };
  const of = (more: object, heldOut: number) => costs('grpo', params, heldOut, more, {}, { others: 7e5 });
  const [without, with_] = [of({}, 3), of({ scoring }, 3)];
  expect(with_.secondsPerStep - without.secondsPerStep).toBeCloseTo(8 * 110 * 0.001, 9);
  const evaluation = (c: typeof with_) => c.totalSeconds - 10 * c.secondsPerStep;
  expect(evaluation(with_) - evaluation(without)).toBeCloseTo(4 * 3 * 110 * 0.001, 9);
  expect(without.memory.others).toBe(7e5);
  expect(with_.memory.total - without.memory.total).toBeCloseTo(8 * 120 * 4000, 6);
});

it('answers of its own cost a distilled model their sampling, and are as long as they are', () => {
  const of = (onPolicy: number) => costs('distill', { batchSize: 4, maxNewTokens: 64, onPolicy });
  const row = rates.policy.secondsPerToken;
  expect(of(0).secondsPerStep).toBeCloseTo(4 * 100 * row, 9);
  // of prompts of 40 tokens
  const sampling = 2 * 40 * 0.0001 + 20 * 0.01 + 2 * 10 * 0.001;
  expect(of(0.5).secondsPerStep).toBeCloseTo(sampling + (2 * 100 + 2 * 50) * row, 9);
  expect(of(0.5).rollouts).toBeNull();
});

it('rows that are forwarded together take the memory of the longest', () => {
  const of = (longest: number) => costs('sft', { batchSize: 4 }, 0, {}, {}, { row: { mean: 100, longest } });
  expect(of(250).memory.activations - of(100).memory.activations).toBeCloseTo(4 * 150 * 1000, 6);
  expect(of(250).secondsPerStep).toBe(of(100).secondsPerStep);
});

it('devices share the answers of whole prompts and the rows, and each holds the weights', () => {
  const params = { prompts: 8, groupSize: 4, maxNewTokens: 64 };
  const on = (devices: number) => costs('grpo', params, 0, {}, {}, { devices, microTokens: 1e6 });
  const [one, two, three] = [on(1), on(2), on(3)];
  expect(two.memory.weights).toBe(one.memory.weights);
  expect(two.memory.optimizer).toBe(one.memory.optimizer);
  expect(two.memory.cache).toBeCloseTo(one.memory.cache / 2, 6);
  expect(two.leastBytes).toBeLessThan(one.leastBytes);
  // three, three and two prompts
  expect(three.memory.cache).toBeCloseTo((one.memory.cache * 3) / 8, 6);
  expect(two.secondsPerStep).toBeLessThan(one.secondsPerStep);
  // one row cannot be shared
  const row = (devices: number) => costs('sft', { batchSize: 1 }, 0, {}, {}, { devices }).memory.activations;
  expect(row(2)).toBe(row(1));
});

it('rows that only some steps train count in memory as in the largest of forty steps, in time as they are', () => {
  const of = (trainedShare: number) =>
    costs('grpo', { prompts: 4, groupSize: 4, maxNewTokens: 64 }, 0, { trainedShare });
  // 8 and twice a deviation of 2, of 16
  expect(of(1).memory.total - of(0.5).memory.total).toBeCloseTo(4 * 120 * 1000, 6);
  expect(of(1).secondsPerStep - of(0.5).secondsPerStep).toBeCloseTo(8 * 110 * 0.003, 9);
});
