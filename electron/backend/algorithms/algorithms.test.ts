import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { aboutOf, ALGORITHMS, algorithmByKey, type Rollouts } from '../../../shared/algorithms';
import { RewardScorer } from '../rewards';
import { spawnReward } from '../rewards/testing';
import { Algorithms } from './algorithms';
import { builtinSource } from './builtin';
import { tryAlgorithm } from './trial';

const home = mkdtempSync(join(tmpdir(), 'atelier-algorithms-'));
const sandbox = new RewardScorer(spawnReward);
const algorithms = new Algorithms(home, sandbox, process.cwd());
let grpo: string;
beforeAll(async () => (grpo = await builtinSource(process.cwd(), 'grpo')));
afterAll(async () => {
  await sandbox.close();
  rmSync(home, { recursive: true });
});

const rollouts: Rollouts = {
  reward: [1, 0, 0.5, null, 1, 1, 0, 0.25],
  group: [0, 0, 0, 0, 1, 1, 1, 1],
  truncated: [false, false, true, false, false, false, false, false],
  length: [2, 3, 1, 2, 2, 1, 3, 2],
  samplerLogp: [2, 3, 1, 2, 2, 1, 3, 2].map((n, k) => new Float32Array(n).fill(-0.5 - k / 10)),
  refLogp: [2, 3, 1, 2, 2, 1, 3, 2].map((n, k) => new Float32Array(n).fill(-0.6 - k / 20)),
};

async function settled(code: string, params: Record<string, unknown> = {}) {
  const info = await algorithms.own.describe('mine', code);
  const found = await algorithms.own.settle(info, code, params);
  if ('issues' in found) throw new Error(JSON.stringify(found.issues));
  return { info, ...found };
}

describe('the source of a built-in, as an algorithm of one’s own', () => {
  test.each(ALGORITHMS.map(({ key }) => key))('%s is the same in the sandbox', async (key) => {
    const known = algorithmByKey(key)!;
    const code = await builtinSource(process.cwd(), key);
    const { info, params, algorithm } = await settled(code);
    expect(info).toEqual({ ...JSON.parse(JSON.stringify(aboutOf(known))), key: 'mine', source: 'user' });
    expect(params).toEqual(known.params.parse({}));
    expect(algorithm.needs(params as never)).toEqual(known.needs(known.params.parse({})));
    expect(algorithm.losses(params as never)).toEqual(
      JSON.parse(JSON.stringify(known.losses(known.params.parse({})))),
    );
    expect(await algorithm.steps(params as never, 33)).toBe(known.steps(known.params.parse({}), 33));
    if (known.advantages && !algorithm.needs(params as never).roles.includes('critic'))
      expect(await algorithm.advantages!(rollouts, params as never)).toEqual(
        known.advantages(rollouts, known.params.parse({})),
      );
    const trial = await tryAlgorithm(algorithm, params);
    expect(trial.gradientNorm).toBeGreaterThan(0);
  });
});

test('one that names its params one by one need not know those that came later', async () => {
  const code = grpo.replace(
    '...adapterParams(),',
    '...(({ loraRanks: _ranks, loraAlphas: _alphas, ...rest }) => rest)(adapterParams()),',
  );
  expect(code).not.toBe(grpo);
  const { params } = await settled(code);
  expect(params).toMatchObject({ loraRank: 16 });
  // a run that is recorded is settled again when its turn comes
  expect((await settled(code, params)).params).toEqual(params);
  const none = grpo.replace('...adapterParams(),', '');
  await expect(settled(none)).rejects.toMatchObject({ message: expect.stringContaining('loraRank') });
});

test('settings that do not fit are told by field', async () => {
  const info = await algorithms.own.describe('mine', grpo);
  expect(await algorithms.own.settle(info, grpo, { groupSize: 1, nonsense: 3 })).toMatchObject({
    issues: expect.arrayContaining([expect.objectContaining({ path: ['groupSize'] })]) as unknown,
  });
});

describe('code that is wrong', () => {
  const changed = (from: string, to: string) => {
    expect(grpo).toContain(from);
    return grpo.replace(from, to);
  };
  const problem = async (code: string) =>
    (await algorithms.check(code)).problems.map(({ message }) => message).join('; ');

  test('an import that there is not has its line', async () => {
    const { problems } = await algorithms.check(`import { readFile } from 'node:fs';\n${grpo}`);
    expect(problems[0]).toMatchObject({
      line: 1,
      column: 1,
      message: expect.stringContaining('cannot be imported') as string,
    });
  });

  test.each([
    ['no algorithm', 'export const a = 1;', /exports no algorithm/],
    ['syntax', 'export const = 1;', /expected/],
    [
      'a name that is not there',
      "import { clipTwice } from './policy-gradient';\nexport const a = clipTwice;",
      /clipTwice/,
    ],
    ['an endless loop', 'for (;;) {}\nexport default 1;', /did not finish in time/],
    [
      'too much memory',
      'const a = []; for (;;) a.push(new ArrayBuffer(1 << 24));',
      /out of memory|did not finish/,
    ],
    ['deep recursion', 'const f = () => f() + 1; f();', /stack overflow/],
  ])('%s', async (_, code, words) => expect(await problem(code)).toMatch(words), 120_000);

  test('a type that does not fit has its place', async () => {
    const { problems, types } = await algorithms.check(
      changed('steps: (p) => p.steps,', "steps: (p) => 'many',"),
    );
    expect(types).toBe(true);
    expect(problems.find(({ message }) => message.includes("'string' is not assignable"))).toBeDefined();
  }, 120_000);

  test.each([
    [
      'no optimiser settings',
      ["...optimizerParams({ learningRate: 1e-5, schedule: 'constant', warmup: 0 }),", ''],
      /learningRate/,
    ],
    [
      'an input that nobody makes',
      ["p.data('advantage', 'S')", "p.data('fortune', 'S')"],
      /"fortune", which no trainer makes/,
    ],
    [
      'a loss without gradient',
      [
        'let value = GAINS[objective](t, advantage, o).neg();',
        'let value = GAINS[objective](t, advantage, o).neg().stopGradient();',
      ],
      /gradient .* is 0/,
    ],
    [
      'a loss that is not finite',
      [
        'let value = GAINS[objective](t, advantage, o).neg();',
        'let value = GAINS[objective](t, advantage, o).neg().over(advantage.minus(advantage));',
      ],
      /made-up numbers is|not finite/,
    ],
    ['steps that are none', ['steps: (p) => p.steps,', 'steps: () => NaN as number,'], /^$/],
  ] as [string, [string, string], RegExp][])(
    '%s',
    async (_, [from, to], words) => {
      const { problems } = await algorithms.check(changed(from, to));
      expect(problems.map(({ message }) => message).join('; ')).toMatch(words);
    },
    120_000,
  );

  test('steps that are no number stop a run before it begins', async () => {
    const { params, algorithm } = await settled(changed('steps: (p) => p.steps,', 'steps: () => NaN,'));
    await expect(Promise.resolve(algorithm.steps(params as never, 3))).rejects.toThrow(/whole number/);
  });

  test.each([
    [
      'too few advantages',
      'advantages: (r) => ({ advantage: [1], use: [], learns: [], metrics: {} }),',
      /advantage/,
    ],
    [
      'NaN',
      "advantages: (r) => ({ advantage: r.reward.map(() => NaN), use: r.reward.map(() => 'train'), learns: r.reward.map(() => true), metrics: {} }),",
      /advantage\.0 is NaN/,
    ],
    [
      'another use',
      "advantages: (r) => ({ advantage: r.reward.map(() => 1), use: r.reward.map(() => 'steal'), learns: r.reward.map(() => true), metrics: {} }),",
      /use/,
    ],
    [
      'tokens that there are not',
      "advantages: (r) => ({ advantage: r.reward.map(() => new Float32Array(99)), use: r.reward.map(() => 'train'), learns: r.reward.map(() => true), metrics: {} }),",
      /one number a token/,
    ],
    ['an endless loop', 'advantages: () => { for (;;) {} },', /did not finish in time/],
  ])(
    'advantages with %s are an error, not a training',
    async (_, body, words) => {
      const code = grpo.replace(/\n {2}advantages,\n/, `\n  ${body}\n`);
      const { params, algorithm } = await settled(code);
      await expect(Promise.resolve(algorithm.advantages!(rollouts, params as never))).rejects.toThrow(words);
    },
    120_000,
  );

  test('what it does to the sandbox does not reach the host, nor the next algorithm', async () => {
    const robbed = `JSON.stringify = () => '{"key":"robbed"}'; JSON.parse = () => ({}); Array.from = () => []; Object.values = () => [];\n${grpo}`;
    // it may only have robbed itself
    await settled(robbed).catch((error: Error) => expect(error.message).toMatch(/The algorithm's code/));
    const found = await settled(grpo);
    expect(found.info.label).toBe('GRPO');
    const reach = `const found = ['process', 'require', 'fetch', 'setTimeout', 'WebAssembly'].filter((n) => n in globalThis);\n${grpo.replace("label: 'GRPO'", 'label: `GRPO${found.join()}`')}`;
    expect((await settled(reach)).info.label).toBe('GRPO');
  });
});

test('saved, replaced, removed; a key of the app is never taken', async () => {
  const { store } = algorithms;
  const saved = await store.save({ name: 'GRPO', code: grpo });
  expect(saved.key).not.toBe('grpo');
  expect((await algorithms.list())[0]).toMatchObject({
    key: saved.key,
    name: 'GRPO',
    problems: [],
    info: { rewarded: true },
  });
  await store.save({ key: saved.key, name: 'Other', code: 'export default 1;' });
  expect((await algorithms.list())[0]).toMatchObject({
    name: 'Other',
    info: null,
    problems: [expect.anything()],
  });
  await store.remove(saved.key);
  expect(await store.list()).toEqual([]);
  await expect(store.remove('../x')).rejects.toBeDefined();
});
