import { describe, expect, it } from 'vitest';
import { ALGORITHMS, algorithmByKey, fields, metricsOf, TRAINER_INPUTS } from './index';

describe.each(ALGORITHMS.map((a) => [a.key, a] as const))('%s', (_, algorithm) => {
  const defaults = algorithm.params.parse({});

  it('has a form: each param with label, help, level, section and a default in range', () => {
    for (const field of fields(algorithm)) {
      expect(field, field.key).toMatchObject({
        label: expect.any(String),
        help: expect.stringMatching(/\.$/),
        level: expect.stringMatching(/^(simple|advanced)$/),
        section: expect.any(String),
      });
      expect(field.default, field.key).toBe(defaults[field.key]);
      if (field.type === 'integer' || field.type === 'number') {
        expect(field.default).toBeGreaterThanOrEqual(field.min!);
        expect(field.default).toBeLessThanOrEqual(field.max!);
      }
      if (field.type === 'choice') expect(field.options!.map((o) => o.value)).toContain(field.default);
    }
    expect(fields(algorithm).map((f) => f.key)).toEqual(Object.keys(defaults));
    for (const { key, when } of fields(algorithm)) {
      const other = fields(algorithm).find((each) => each.key === when?.key);
      if (when === undefined) continue;
      if ('above' in when) expect(other?.type, key).toMatch(/^(number|integer)$/);
      else
        expect(
          other?.options?.map(({ value }) => value),
          key,
        ).toEqual(expect.arrayContaining([when.is].flat()));
    }
  });

  it('asks only for what a trainer can make', () => {
    for (const { inputs } of Object.values(algorithm.losses(defaults)))
      for (const input of inputs)
        if (input.from !== 'engine') expect(TRAINER_INPUTS, input.name).toContain(input.name);
  });

  it('describes every metric that its program reports, once', () => {
    const keys = metricsOf(algorithm).map((m) => m.key);
    expect(new Set(keys).size).toBe(keys.length);
    for (const { metrics } of Object.values(algorithm.losses(defaults)))
      for (const metric of metrics) expect(keys).toContain(metric.name);
    expect(keys).toContain(algorithm.headline);
  });

  it('refuses an unknown param and one out of range, naming it', () => {
    expect(algorithm.params.safeParse({ loraRnak: 8 }).error!.issues[0].message).toContain('loraRnak');
    expect(algorithm.params.safeParse({ loraRank: 0 }).error!.issues[0].path).toEqual(['loraRank']);
  });
});

it('defaults are those of the plan', () => {
  expect(algorithmByKey('grpo')!.params.parse({})).toMatchObject({
    loraRank: 16,
    loraAlpha: 32,
    loraTargets: 'all-linear',
    learningRate: 1e-5,
    groupSize: 8,
    prompts: 4,
    temperature: 1,
    maxNewTokens: 512,
    beta: 0,
    clipLow: 0.2,
    clipHigh: 0.28,
    normalisation: 'dapo',
    maskTruncated: true,
    steps: 250,
  });
  expect(algorithmByKey('sft')!.params.parse({})).toMatchObject({
    learningRate: 2e-4,
    batchSize: 16,
    epochs: 2,
    maxTokens: 2048,
    warmup: 0.05,
    maxGradNorm: 1,
    completionOnly: true,
  });
});

it('more updates than groups are refused', () => {
  const { error } = algorithmByKey('grpo')!.params.safeParse({ prompts: 2, minibatches: 3 });
  expect(error!.issues[0]).toMatchObject({ path: ['minibatches'] });
});

it('an epoch of SFT ends with a smaller last batch', () => {
  const sft = algorithmByKey('sft')!;
  expect(sft.steps(sft.params.parse({ epochs: 3, batchSize: 16 }), 33)).toBe(9);
});

it.each([
  ['grpo', { overlongBuffer: 513 }, 'overlongBuffer'],
  ['rloo', { overlongBuffer: 20, maxNewTokens: 16 }, 'overlongBuffer'],
  ['ppo', { dualClip: 0.5 }, 'dualClip'],
  ['kto', { desirableWeight: 0, undesirableWeight: 0 }, 'desirableWeight'],
])('%s with %o contradicts itself', (key, values, path) => {
  const { params } = algorithmByKey(key)!;
  expect(params.safeParse(values).error!.issues[0]).toMatchObject({ path: [path] });
});
