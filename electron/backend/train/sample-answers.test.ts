import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Engine, ModelInfo } from '../../../native/face';
import { engineModule } from '../../../native';
import { appRoot } from '../system';
import { scriptedEngine, type ScriptedOptions } from '../testing/scripted-engine';
import type { Sample, Score, Scorer, ScoringKey } from './job';
import { sampleAnswers, type Asked } from './sample-answers';
import { exactSum, jobs, rewarded, sums } from './testing';
import { timed } from './timeline';

const make = jobs();
const forever = new AbortController().signal;
const nothing = () => undefined;
const hooks = { signal: forever, onSampled: nothing, onScored: nothing };

const asked = (prompts = sums(4)): Asked => ({
  weights: { model: 1 as never, adapter: null },
  prompts,
  samplesPerPrompt: 3,
  maxNewTokens: 8,
  temperature: 1,
  seed: 5,
  firstIndex: 30,
  key: { seed: 9, step: 2 },
});

const job = (options: ScriptedOptions = {}, rewards = rewarded(exactSum)) =>
  timed(make({}, { engine: scriptedEngine(options), rewards }));

/** What each call held, and a number that depends on all that a reward may depend on. */
function telling(takes: Scorer['takes']) {
  const calls: number[][] = [];
  const scorer: Scorer = {
    hash: takes,
    takes,
    score: async (samples: Sample[], { seed, step }: ScoringKey): Promise<Score[]> => {
      calls.push(samples.map(({ index }) => index));
      return samples.map(({ completion, index, ids }, k) => ({
        reward: completion.length + index / 7 + ids.length / 11 + seed + step + (takes === 'answer' ? 0 : k),
        status: 'ok',
        milliseconds: 0,
      }));
    },
  };
  return { calls, scorer };
}

describe('answers that end in another order', () => {
  const backwards = (count: number) => Array.from({ length: count }, (_, k) => count - 1 - k);
  const mixed = (count: number) => Array.from({ length: count }, (_, k) => (k * 5 + 3) % count);

  it.each(['answer', 'group', 'all'] as const)('get the same rewards, one call an %s', async (takes) => {
    const results = [];
    for (const order of [undefined, backwards, mixed]) {
      const { calls, scorer } = telling(takes);
      const rewards = [...rewarded(scorer), { name: 'sum', weight: 2, scorer: exactSum }];
      const sampled = await sampleAnswers(job(order ? { order } : {}, rewards), asked(), hooks);
      results.push({ ...sampled, seconds: 0, calls: calls.map(String).sort() });
    }
    expect(results[1]).toEqual(results[0]);
    expect(results[2]).toEqual(results[0]);
    expect(results[0]!.calls).toHaveLength({ answer: 12, group: 4, all: 1 }[takes]);
    if (takes === 'group') expect(results[0]!.calls).toContain('33,34,35');
  });

  it('are those that the engine gives in the end, also where it told of none', async () => {
    const engine = scriptedEngine();
    const whole = await sampleAnswers(job(), asked(), hooks);
    const { generate } = engine;
    engine.generate = (request) => generate(request);
    const silent = await sampleAnswers(timed(make({}, { engine })), asked(), hooks);
    expect(silent.completions).toEqual(whole.completions);
    expect(silent.scores).toEqual(whole.scores);
  });

  it('must be what was told while they were written', async () => {
    const engine = scriptedEngine();
    const { generate } = engine;
    engine.generate = async (request, given) => {
      const result = await generate(request, given);
      result.rows[2]!.ids = Int32Array.of(48, 10);
      return result;
    };
    await expect(sampleAnswers(timed(make({}, { engine })), asked(), hooks)).rejects.toThrow('answer 2');
  });
});

describe('while answers are sampled', () => {
  it('a reward that throws ends the sampling, and is what is told', async () => {
    let over!: () => void;
    const thrown = new Promise<void>((resolve) => (over = resolve));
    const throwing: Scorer = {
      hash: 'throws',
      takes: 'answer',
      score: () => {
        setImmediate(over);
        return Promise.reject(new Error('the code is gone'));
      },
    };
    const run = job({ duringGenerate: () => thrown }, rewarded(throwing));
    const sampled: number[] = [];
    await expect(
      sampleAnswers(run, asked(), { ...hooks, onSampled: (count) => void sampled.push(count) }),
    ).rejects.toThrow('the code is gone');
    expect(sampled).toEqual([1]);
  });

  it('a wish to stop ends the sampling and the scoring, and nothing stays', async () => {
    const control = new AbortController();
    let scoring!: () => void;
    const begun = new Promise<void>((resolve) => (scoring = resolve));
    let cancelled = 0;
    const endless: Scorer = {
      hash: 'endless',
      takes: 'answer',
      score: (_samples, _key, signal) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => {
            cancelled++;
            reject(new Error('cancelled'));
          });
          scoring();
        }),
    };
    const run = job({ duringGenerate: () => begun.then(() => control.abort()) }, rewarded(endless));
    await expect(sampleAnswers(run, asked(), { ...hooks, signal: control.signal })).rejects.toThrow();
    expect(cancelled).toBe(1);
  });

  it('an engine that fails is told as it says it, not as the cancelling that follows', async () => {
    const engine = scriptedEngine();
    const { generate } = engine;
    engine.generate = async (request, given) => {
      await generate(request, given);
      throw new Error('out of memory');
    };
    const endless: Scorer = {
      hash: 'endless',
      takes: 'group',
      score: (_samples, _key, signal) =>
        new Promise((_resolve, reject) =>
          signal.addEventListener('abort', () => reject(new Error('cancelled'))),
        ),
    };
    const run = timed(make({}, { engine, rewards: rewarded(endless) }));
    await expect(sampleAnswers(run, asked(), hooks)).rejects.toThrow('out of memory');
  });

  it('tells how many are scored only once all have ended', async () => {
    const told: string[] = [];
    await sampleAnswers(job({}, rewarded({ ...exactSum, takes: 'group' })), asked(), {
      signal: forever,
      onSampled: (count) => void told.push(`sampled ${count}`),
      onScored: (count) => void told.push(`scored ${count}`),
    });
    const first = told.findIndex((text) => text.startsWith('scored'));
    expect(told.slice(0, first)).toEqual(Array.from({ length: 12 }, (_, k) => `sampled ${k + 1}`));
    expect(told.at(-1)).toBe('scored 12');
  });
});

describe('with the real engine', () => {
  let engine: Engine;
  let model: ModelInfo;
  beforeAll(async () => {
    engine = engineModule('cpu').createEngine({ device: 'cpu' });
    model = await engine.loadModel(join(appRoot(), 'resources/models/abacus'));
  });
  afterAll(() => engine.close());

  /** Far beyond what it was taught: answers of very different lengths. */
  const babble = (): Asked => ({
    ...asked(sums(4).map((prompt) => ({ ...prompt, ids: Int32Array.of(5, 9, 14, 7) }))),
    weights: { model: model.id, adapter: null },
    samplesPerPrompt: 8,
    maxNewTokens: 200,
    temperature: 1.5,
  });

  it('the first reward is asked for, and its answer waited for, while others are still written', async () => {
    const order: string[] = [];
    let first!: () => void;
    const asks = new Promise<void>((resolve) => (first = resolve));
    let generated!: () => void;
    const over = new Promise<void>((resolve) => (generated = resolve));
    // slower than all of the sampling: it answers only once that is over
    const slow: Scorer = {
      hash: 'slow',
      takes: 'answer',
      async score(samples) {
        order.push('asked');
        first();
        await over;
        return samples.map(({ ids }) => ({ reward: ids.length, status: 'ok', milliseconds: 0 }));
      },
    };
    const real: Engine = {
      ...engine,
      async generate(request, given) {
        const result = await engine.generate(request, given);
        order.push('generated');
        generated();
        return result;
      },
    };
    const run = timed({
      ...make({}, { rewards: rewarded(slow) }),
      engine: real,
      text: {
        stopIds: Int32Array.from({ length: 6 }, (_, k) => 16 * k),
        decode: async (ids) => ids.join(' '),
      },
    });
    const { rows, scores, completions } = await sampleAnswers(run, babble(), hooks);
    await asks;
    expect(order.indexOf('generated')).toBeGreaterThan(0);
    expect(order.filter((word) => word === 'asked')).toHaveLength(32);
    expect(scores.map(({ reward }) => reward)).toEqual(rows.map(({ ids }) => ids.length));
    expect(completions).toEqual(rows.map(({ ids }) => ids.join(' ')));
    expect(new Set(rows.map(({ ids }) => ids.length)).size).toBeGreaterThan(8);
  });
});
