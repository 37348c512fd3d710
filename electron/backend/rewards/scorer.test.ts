import { afterAll, describe, expect, test } from 'vitest';
import type { Scored } from './contract';
import { RewardScorer } from './scorer';
import { record, records, spawnReward } from './testing';

const scorer = new RewardScorer(spawnReward, { limit: 300 });
afterAll(() => scorer.close());

const score = (code: string, samples = records(4)): Promise<Scored[]> =>
  scorer.score({ code, samples, seed: 1, step: 2 });
const statuses = (scored: Scored[]) => scored.map(({ status }) => status);
const rewards = (scored: Scored[]) => scored.map(({ reward }) => reward);

/** Misbehaves on the sample "1", answers 1 on the others. */
const onOne = (body: string) =>
  `export default function reward({ completion }) {\n  if (completion === '1') { ${body} }\n  return 1;\n}`;

describe('what a reward may answer', () => {
  test('numbers, booleans, and null for no opinion', async () => {
    const scored = await score(`export default function reward({ completion }: { completion: string }) {
      return ({ '0': 0.25, '1': true, '2': false } as Record<string, number | boolean>)[completion] ?? null;
    }`);
    expect(rewards(scored)).toEqual([0.25, 1, 0, null]);
    expect(statuses(scored)).toEqual(['ok', 'ok', 'ok', 'abstain']);
  });

  test('the record has what the contract says', async () => {
    const samples = [
      record('c', {
        answer: '7',
        row: { difficulty: 3 },
        tokens: [4, 5],
        messages: [{ role: 'user', content: 'p' }],
      }),
    ];
    const scored = await score(
      `export default ({ prompt, completion, answer, messages, row, tokens }) =>
        [prompt, completion, answer, messages[0].role, row.difficulty, tokens.length].join() === 'p,c,7,user,3,2'`,
      samples,
    );
    expect(rewards(scored)).toEqual([1]);
  });

  test('a batch function takes and returns arrays', async () => {
    const scored = await score(`export const batch = true;
      export default (samples) => samples.map((s, i) => i === 2 ? null : s.completion.length * 10 + i);`);
    expect(rewards(scored)).toEqual([10, 11, null, 13]);
  });

  test.each([
    ['of an entry', 'Object.defineProperty([1, 1, 1, 1], 0, { get() { while (true); } })'],
    ['of the length', 'new Proxy([1, 1, 1, 1], { get() { while (true); } })'],
  ])('a batch whose getter %s never ends did not finish in time', async (_, made) => {
    const scored = await score(`export const batch = true; export default () => ${made};`);
    expect(statuses(scored)).toEqual(['timeout', 'timeout', 'timeout', 'timeout']);
  });

  test('code nested beyond what a parser bears is a mistake in it', async () => {
    const code = `export default () => ${'('.repeat(20_000)}1${')'.repeat(20_000)}`;
    await expect(score(code)).rejects.toMatchObject({
      code: 'reward_failed',
      message: expect.stringContaining('nested too deeply'),
    });
  });

  test.each([
    ['undefined', 'return undefined', 'wrong_type', /undefined \(is a return missing\?\)/],
    ['a string', "return '1'", 'wrong_type', /this is a string/],
    ['a promise', 'return Promise.resolve(1)', 'wrong_type', /this is a Promise: leave out async/],
    ['a promise that failed', 'return Promise.reject(1)', 'wrong_type', /this is a Promise/],
    ['a promise that never ends', 'return new Promise(() => {})', 'wrong_type', /this is a Promise/],
    ['what only looks like one', 'return { then: 1 }', 'wrong_type', /this is an object/],
    ['NaN', 'return NaN', 'nonfinite', /NaN/],
    ['infinity', 'return 1 / 0', 'nonfinite', /Infinity/],
    ['more than a float holds', 'return -1e200', 'nonfinite', /-1e\+200, beyond ±3.4e\+38/],
    ['an error', "throw new Error('no luck')", 'error', /no luck \(line 2, column \d+\)/],
    ['a null access', 'const x = null; return x.y', 'error', /cannot read property 'y' of null \(line 2/],
    ['a thrown string', "throw 'odd'", 'error', /threw odd/],
    ['deep recursion', 'const f = () => f() + 1; return f()', 'error', /stack overflow/],
    ['an endless loop', 'while (true) {}', 'timeout', /in time/],
    ['a caught endless loop', 'for (;;) { try { for (;;) {} } catch {} }', 'timeout', /in time/],
    ['a catastrophic pattern', "return /^(a+)+$/.test('a'.repeat(40) + 'b')", 'timeout', /in time/],
    ['a heavy native loop', "const s = 'a b '.repeat(1e6); while (true) s.split(' ')", 'timeout', /in time/],
    ['JSON too deep for the stack', "return JSON.parse('['.repeat(200000))", 'error', /stack overflow/],
  ])('%s is charged to its own sample alone', async (_, body, status, words) => {
    const scored = await score(onOne(body));
    expect(statuses(scored)).toEqual(['ok', status, 'ok', 'ok']);
    expect(rewards(scored)).toEqual([1, null, 1, 1]);
    expect(scored[1]!.error).toMatch(words);
  });

  test('too much memory is an error of its own sample, once the limit is reached', async () => {
    // Its own time limit: filling memory takes as long as the machine is busy.
    const patient = new RewardScorer(spawnReward, { limit: 15_000 });
    const scored = await patient.score({
      code: onOne('const a = []; for (;;) a.push(new ArrayBuffer(1 << 24))'),
      samples: records(3),
      seed: 0,
      step: 0,
    });
    await patient.close();
    expect(statuses(scored)).toEqual(['ok', 'error', 'ok']);
    expect(scored[1]!.error).toMatch(/out of memory: a reward may use 256 MB/);
  });

  test.each([
    ['too few', 'samples.slice(1).map(() => 1)', /3 rewards for 4 samples/],
    ['one number', '1', /answers with an array/],
    ['a promise', 'Promise.resolve(samples.map(() => 1))', /this is a Promise/],
    ['an endless loop', '(() => { for (;;) {} })()', /in time/],
    ['a heavy native loop', "(() => { const s = 'a b '.repeat(1e6); for (;;) s.split(' ') })()", /in time/],
  ])('a batch function with %s fails as a whole', async (_, body, words) => {
    const scored = await score(`export const batch = true; export default (samples) => ${body};`);
    expect(rewards(scored)).toEqual([null, null, null, null]);
    for (const { status, error } of scored) {
      expect(['error', 'wrong_type', 'timeout']).toContain(status);
      expect(error).toMatch(words);
    }
  });
});

describe('the process', () => {
  test('a heavy native loop while loading, or on every sample, costs no more than its limits', async () => {
    const heavy = "const s = 'a b '.repeat(1e6); for (;;) s.split(' ');";
    const started = performance.now();
    const loading = await score(`${heavy} export default () => 1;`, records(64));
    expect(new Set(statuses(loading))).toEqual(new Set(['timeout']));
    const every = await score(`export default () => { ${heavy} };`, records(2));
    expect(statuses(every)).toEqual(['timeout', 'timeout']);
    expect(performance.now() - started).toBeLessThan(60_000);
  }, 90_000);

  test('killed from outside before it began: nobody is charged', async () => {
    await score('export default () => 1');
    const { pid } = scorer;
    const running = score('export default () => 3', records(3));
    process.kill(pid!, 'SIGKILL');
    expect(rewards(await running)).toEqual([3, 3, 3]);
    expect(scorer.pid).not.toBe(pid);
  });

  test('cancelled: the caller is told at once and the next batch is served', async () => {
    const abort = new AbortController();
    const endless = scorer.score(
      { code: 'export default () => { for (;;) {} }', samples: records(64), seed: 0, step: 0 },
      abort.signal,
    );
    abort.abort();
    await expect(endless).rejects.toBeDefined();
    expect(rewards(await score('export default () => 2', records(1)))).toEqual([2]);
  });

  test('nothing stays from one batch to the next', async () => {
    const code =
      'let calls = 0; globalThis.seen = (globalThis.seen ?? 0) + 1; export default () => calls++ + globalThis.seen * 100;';
    expect(rewards(await score(code, records(2)))).toEqual([100, 101]);
    expect(rewards(await score(code, records(2)))).toEqual([100, 101]);
  });
});

describe('the sandbox', () => {
  test.each([
    '(() => {}).constructor.constructor("return this")()',
    'globalThis',
    'reward.constructor("return this")()',
    'new Proxy({}, {}).constructor.constructor("return this")()',
  ])('%s leads to nothing', async (way) => {
    const scored = await score(
      `export default function reward() {
        const found = ${way};
        return ['process', 'require', 'module', 'fetch', 'setTimeout', 'WebAssembly', 'performance', 'Worker', 'Deno']
          .filter((name) => typeof found[name] !== 'undefined').length;
      }`,
      records(1),
    );
    expect(rewards(scored)).toEqual([0]);
  });

  test('import() finds no module', async () => {
    const scored = await score(`export default () => { import('fs'); return 1; }`, records(1));
    expect(scored[0]!.status).toBe('ok');
    await expect(score(`import fs from 'fs'; export default () => 1;`)).rejects.toThrow(
      /cannot import anything/,
    );
  });

  test('code cannot rob the host of its tools', async () => {
    const scored = await score(`
      Array.isArray = () => true; JSON.parse = () => null; Object.defineProperty(Object.prototype, 'then', { get() { return 1; } });
      export default ({ completion }) => Number(completion);`);
    expect(rewards(scored)).toEqual([0, 1, 2, 3]);
  });

  test('chance and time repeat with (seed, step, index)', async () => {
    const code = 'export default () => Math.random() + (Date.now() === new Date().getTime() ? 0 : 100)';
    const request = { code, samples: records(3), seed: 7, step: 3 };
    const first = await scorer.score(request);
    expect(rewards(await scorer.score(request))).toEqual(rewards(first));
    const last = await scorer.score({ ...request, samples: records(1), indices: [2] });
    expect(last[0]!.reward).toBe(first[2]!.reward);
    const other = await scorer.score({ ...request, step: 4 });
    expect(other[0]!.reward).not.toBe(first[0]!.reward);
    expect(new Set(rewards(first)).size).toBe(3);
    for (const { reward } of first) expect(reward).toBeLessThan(1);
  });

  test('a module that breaks while loading gives every sample its reason', async () => {
    const scored = await score("throw new Error('top'); export default () => 1;", records(2));
    expect(statuses(scored)).toEqual(['error', 'error']);
    expect(scored[0]!.error).toMatch(/top \(line 1/);
    expect(
      (await score('while (true) {} export default () => 1;', records(2))).map(({ status }) => status),
    ).toEqual(['timeout', 'timeout']);
  });
});

test('after too many calls that had to be killed, whichever requests they were of, the rest is not tried', async () => {
  const request = { code: 'export default () => 1;', samples: records(2), seed: 1, step: 2 };
  const given = await scorer.score({ ...request, breaks: { count: 8 } });
  expect(statuses(given)).toEqual(['killed', 'killed']);
  expect(given[0]).toMatchObject({ reward: null, error: expect.stringContaining('not tried') });
  expect(rewards(await scorer.score({ ...request, breaks: { count: 7 } }))).toEqual([1, 1]);
});

test('a batch of 64 two-kilobyte completions takes a fraction of a step', async () => {
  const samples = Array.from({ length: 64 }, (_, index) =>
    record(`answer ${index} `.repeat(150), { prompt: 'x'.repeat(60), answer: String(index) }),
  );
  const code = `export default ({ completion, answer }) => {
    const words = new Set(completion.split(/\\s+/));
    return (/answer (\\d+)/.exec(completion)?.[1] === answer ? 1 : 0) + (words.size > 1 ? 0.1 : 0) + (/[a-z]+$/.test(completion) ? 0 : 0);
  }`;
  await scorer.score({ code, samples, seed: 0, step: 0 });
  const started = performance.now();
  const scored = await scorer.score({ code, samples, seed: 0, step: 0 });
  const milliseconds = performance.now() - started;
  console.info(`64 completions: ${milliseconds.toFixed(1)} ms`);
  expect(new Set(rewards(scored))).toEqual(new Set([1.1]));
  expect(milliseconds).toBeLessThan(10_000);
});
