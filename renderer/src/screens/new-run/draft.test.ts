import { expect, test } from 'vitest';
import { aboutOf, algorithmByKey, ALGORITHMS, fields } from '../../../../shared/algorithms';
import type { AlgorithmInfo } from '../../../../shared/contract/algorithms';
import { RunConfig } from '../../../../shared/contract/runs';
import { datasetsSample, modelsSample } from './testing/library';
import { Draft, emptyDraft, fromConfig, resolve, suggested, toConfig, withRecorded } from './draft';

const library = {
  models: modelsSample,
  datasets: datasetsSample,
  rewards: [],
  algorithms: ALGORITHMS.map(aboutOf),
};
const about = (key: string) => aboutOf(algorithmByKey(key)!);

test('an untouched form already is a whole, valid configuration', () => {
  const draft = emptyDraft();
  const config = toConfig(draft, resolve(draft, library))!;
  expect(RunConfig.safeParse(config).error).toBeUndefined();
  expect(config.model).toBe('adder');
  expect(config.data.dataset).toBe('sums');
  expect(config.data.heldOut).toEqual({ dataset: 'sums-held-out', rows: 128 });
});

test('a reward model is taken for what learns to score, and for nothing else', () => {
  const judge = { ...modelsSample[0]!, id: 'judge', scalarHead: true };
  const chosen = (algorithm: string, model: string | null) =>
    resolve({ ...emptyDraft(), algorithm, model }, { ...library, models: [judge, ...modelsSample] }).model
      ?.id;
  expect(chosen('grpo', null)).toBe('adder');
  expect(chosen('grpo', 'judge')).toBeUndefined();
  expect(chosen('reward_model', 'judge')).toBe('judge');
});

test.each(ALGORITHMS.map((algorithm) => [algorithm.key, algorithm] as const))(
  'every setting of %s comes from its schema, and its defaults are valid',
  (_key, algorithm) => {
    const draft = { ...emptyDraft(), algorithm: algorithm.key };
    const config = toConfig(draft, resolve(draft, library))!;
    expect(Object.keys(config.params!)).toEqual(fields(algorithm).map((field) => field.key));
    expect(algorithm.params.safeParse(config.params).error).toBeUndefined();
    for (const field of fields(algorithm)) expect(field.help, field.key).not.toBe('');
  },
);

test.each(ALGORITHMS.map((algorithm) => [algorithm.key]))(
  'the bundled model gets settings for %s under which it learns, not those of a large model',
  (key) => {
    const params = suggested(about(key), { ...modelsSample[0]!, id: 'abacus' });
    expect(params['learningRate']).toBeGreaterThanOrEqual(2e-4);
    expect(algorithmByKey(key)!.params.safeParse(params).error).toBeUndefined();
  },
);

test('a setting that does nothing under the others is kept, and not asked for', () => {
  const chosen = { objective: 'sapo', ratioCap: 2, loraRank: 4 };
  const draft: Draft = { ...emptyDraft(), params: { grpo: chosen } };
  const { params } = toConfig(draft, resolve(draft, library))!;
  expect(params).toMatchObject({ objective: 'sapo', ratioCap: 0, loraRank: 4 });
  const back: Draft = { ...draft, params: { grpo: { ...chosen, objective: 'clip' } } };
  expect(toConfig(back, resolve(back, library))!.params).toMatchObject({ ratioCap: 2 });
});

test('trying another algorithm keeps what was set for the first', () => {
  const draft: Draft = { ...emptyDraft(), params: { grpo: { steps: 7 } } };
  const other = { ...draft, algorithm: 'sft' };
  expect(toConfig(other, resolve(other, library))!.params).not.toHaveProperty('steps');
  expect(toConfig(draft, resolve(draft, library))!.params).toMatchObject({ steps: 7 });
});

test('what is suggested fits the model', () => {
  const model = (contextLength: number | null) => ({ ...modelsSample[0]!, contextLength });
  expect(suggested(about('grpo'), model(512))).toMatchObject({ maxNewTokens: 256 });
  expect(suggested(about('sft'), model(512))).toMatchObject({ maxTokens: 512 });
  expect(suggested(about('grpo'), model(40_960))).toEqual(suggested(about('grpo'), undefined));
  expect(suggested(about('grpo'), model(null))).toEqual(suggested(about('grpo'), undefined));
});

test('a run of an algorithm of one’s own is repeated with the text that it recorded', () => {
  const own = { ...about('grpo'), key: 'mine', label: 'Mine', source: 'user' as const };
  const draft = emptyDraft();
  const config = {
    ...toConfig(draft, resolve(draft, library))!,
    algorithm: 'mine',
    algorithmCode: 'as it was',
  };
  const again = fromConfig(config, own as AlgorithmInfo);
  const later = { ...library, algorithms: [...library.algorithms, { ...own, help: 'as it is now' }] };
  const offered = { ...later, algorithms: withRecorded(later.algorithms, again.recorded) };
  expect(offered.algorithms.filter(({ key }) => key === 'mine')).toEqual([own]);
  expect(toConfig(again, resolve(again, offered))).toMatchObject({
    algorithm: 'mine',
    algorithmCode: 'as it was',
  });
  // another algorithm has no such text, nor has the saved one once it is wanted
  const other = { ...again, algorithm: 'grpo' };
  expect(toConfig(other, resolve(other, offered))!.algorithmCode).toBeNull();
  const saved = { ...again, recorded: null };
  expect(toConfig(saved, resolve(saved, later))!.algorithmCode).toBeNull();
  expect(Draft.parse(JSON.parse(JSON.stringify(again)))).toEqual(again);
});

test('a draft survives being stored, and repeats a run', () => {
  const draft = emptyDraft();
  const config = toConfig(draft, resolve(draft, library))!;
  const again = fromConfig(config);
  expect(Draft.parse(JSON.parse(JSON.stringify(again)))).toEqual(again);
  expect(toConfig(again, resolve(again, library))!.params).toEqual(config.params);
});
