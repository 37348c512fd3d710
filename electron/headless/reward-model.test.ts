// A reward model from its pairs to a run that learns from it, with the real engine; and what it is not for.
import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { learnsWith } from '../../shared/contract/demo';
import type { ExportForm, ExportProgress, FollowItem, RunConfigInput } from '../../shared/contract/runs';
import { appRoot } from '../backend/system';
import { openLocal, type Local } from './local';
import { firstRows, shortRun, temporaryHome } from './testing';

let home: string;
let local: Local;
/** Runs: of a reward model, and one that writes. */
let judge: string;
let writer: string;
/** The exported reward model, added again as a model of its own. */
let merged: string;

async function finished(config: RunConfigInput) {
  const { id } = await local.client.runs.start(config);
  const items: FollowItem[] = [];
  for await (const item of local.client.runs.follow({ id })) items.push(item);
  expect(items.findLast((item) => item.kind === 'state')).toMatchObject({ status: 'completed' });
  const held = items.flatMap((item) => (item.kind === 'evaluation' ? [item.metrics] : []));
  return { id, items, before: held[0], after: held.at(-1) };
}

const firstPairs = (count: number) => firstRows(local, home, 'sums-pairs', count);

async function exported(as: ExportForm) {
  let last: ExportProgress | undefined;
  for await (const item of local.client.runs.export({ id: judge, as })) last = item;
  return last as Extract<ExportProgress, { kind: 'done' }>;
}

const problemsOf = async (config: RunConfigInput) =>
  (await local.client.runs.estimate(config)).problems.filter(({ level }) => level === 'error');

beforeAll(async () => {
  home = temporaryHome();
  local = await openLocal({ home, device: 'cpu' });
}, 120_000);
afterAll(async () => {
  await local.close();
  rmSync(home, { recursive: true });
});

it('is learnt from pairs, and told apart from what writes', async () => {
  const run = await finished(
    shortRun({
      algorithm: 'reward_model',
      data: {
        dataset: await firstPairs(256),
        heldOut: { dataset: 'sums-pairs-held-out', rows: 32 },
      },
      rewards: [],
      params: { ...learnsWith['reward_model'], epochs: 1, batchSize: 16, learningRate: 2e-3 },
      checkpointEvery: 100,
    }),
  );
  judge = run.id;
  expect(run.before!['held_out/accuracy']).toBe(0.5);
  expect(run.after!['held_out/accuracy']).toBeGreaterThan(0.8);
  const dpo = { ...learnsWith['dpo'], epochs: 1, batchSize: 8 };
  ({ id: writer } = await finished(
    shortRun({
      algorithm: 'dpo',
      data: { dataset: await firstPairs(16) },
      rewards: [],
      params: dpo,
      checkpointEvery: 100,
    }),
  ));
  const adapters = await local.client.models.adapters({});
  expect(adapters.map(({ run: id, scalarHead }) => [id, scalarHead])).toEqual([
    [writer, false],
    [judge, true],
  ]);
  expect((await local.client.runs.get({ id: judge })).scalarHead).toBe(true);
}, 120_000);

describe('its export', () => {
  it('as an adapter is a sequence classifier of PEFT, judged by its scores', async () => {
    const done = await exported({ kind: 'adapter' });
    expect(done).toMatchObject({ verified: true, compared: 'scores', maxDifferenceLive: 0 });
    expect(done.maxDifferenceBase).toBeGreaterThan(0.1);
    const config = JSON.parse(readFileSync(join(done.path, 'adapter_config.json'), 'utf8'));
    expect(config).toMatchObject({ task_type: 'SEQ_CLS', modules_to_save: ['classifier', 'score'] });
    expect(readFileSync(join(done.path, 'README.md'), 'utf8')).toContain(
      'AutoModelForSequenceClassification',
    );
  });

  it('merged is a classifier that can be added', async () => {
    const done = await exported({ kind: 'merged', dtype: 'f32' });
    expect(done).toMatchObject({ verified: true, compared: 'scores' });
    const config = JSON.parse(readFileSync(join(done.path, 'config.json'), 'utf8'));
    expect(config).toMatchObject({
      architectures: ['Qwen3ForSequenceClassification'],
      id2label: { 0: 'LABEL_0' },
    });
    const model = await local.client.models.add({ path: done.path, name: 'Judge' });
    expect(model).toMatchObject({ state: 'ready', scalarHead: true });
    merged = model.id;
    expect(await exported({ kind: 'merged', dtype: 'bf16' })).toMatchObject({ verified: true });
  });

  it.each([{ kind: 'gguf', type: 'f16' } as const, { kind: 'mlx', bits: 4 } as const])(
    'as $kind is refused by name',
    async (as) => {
      await expect(exported(as)).rejects.toMatchObject({
        code: 'unsupported',
        message: expect.stringContaining('A reward model cannot be written'),
      });
    },
  );
});

describe('where it makes no sense it is refused, saying what and why', () => {
  const unfit = { message: expect.stringContaining('is a reward model: it scores texts') };
  const distill = (teacher: RunConfigInput['teacher']) =>
    shortRun({
      algorithm: 'distill',
      data: { dataset: 'sums-worked' },
      rewards: [],
      params: learnsWith['distill'],
      teacher,
    });

  it('in a chat', async () => {
    const messages = [{ role: 'user' as const, content: '1 + 1' }];
    for (const asked of [
      { model: merged, adapter: null },
      { model: 'abacus', adapter: { run: judge } },
    ]) {
      const said = async () => {
        for await (const { kind } of local.client.chat.say({ ...asked, messages }))
          expect(kind).toBe('loading');
      };
      await expect(said()).rejects.toMatchObject(unfit);
    }
  });

  it('as the model that is trained, and as a teacher', async () => {
    expect(await problemsOf(shortRun({ model: merged }))).toMatchObject([{ path: 'model', ...unfit }]);
    for (const teacher of [
      { model: merged, adapter: null },
      { model: 'abacus', adapter: { run: judge } },
    ])
      expect(await problemsOf(distill(teacher))).toMatchObject([{ path: 'teacher', ...unfit }]);
  });

  it('and what is none is refused as a reward model', async () => {
    const path = 'rewardModel';
    const told = async (model: string, run: string | null) =>
      problemsOf(shortRun({ rewardModel: { model, adapter: run === null ? null : { run } } }));
    const none = expect.stringContaining('is no reward model');
    expect(await told('abacus', null)).toMatchObject([{ path, message: none }]);
    expect(await told('abacus', writer)).toMatchObject([{ path, message: none }]);
    expect(await told('abacus', 'gone')).toMatchObject([{ path, message: 'There is no run "gone".' }]);
    // a run's adapter on another model than it was made beside would score at random
    expect(await told(merged, judge)).toMatchObject([
      { path, message: expect.stringMatching(/The run ".*" has taught .*, not Judge/) },
    ]);
  });

  it('a folder whose head is missing, or has several labels, is refused when it is added', async () => {
    const folder = join(home, 'two-labels');
    const source = (await local.client.models.list({})).find(({ id }) => id === merged)!.path;
    cpSync(source, folder, { recursive: true });
    const config = JSON.parse(readFileSync(join(folder, 'config.json'), 'utf8'));
    writeFileSync(
      join(folder, 'config.json'),
      JSON.stringify({ ...config, id2label: { 0: 'bad', 1: 'good' } }),
    );
    expect(await local.client.models.add({ path: folder })).toMatchObject({
      state: 'unsupported',
      reason: expect.stringContaining('a classifier with 2 labels'),
    });
    const headless = join(home, 'no-head');
    cpSync(join(appRoot(), 'resources/models/abacus'), headless, { recursive: true });
    writeFileSync(join(headless, 'config.json'), JSON.stringify(config));
    await expect(local.client.models.add({ path: headless })).rejects.toMatchObject({
      message: expect.stringContaining("'score.weight' is missing"),
    });
  });
});

const ppo = (rewardModel: RunConfigInput['rewardModel'], more: Partial<RunConfigInput>, steps: number) =>
  shortRun({
    algorithm: 'ppo',
    data: { dataset: 'sums' },
    rewards: [],
    rewardModel,
    params: { ...learnsWith['ppo'], steps, prompts: 24, criticWarmup: 0, learningRate: 1e-3 },
    checkpointEvery: 100,
    ...more,
  });

it('PPO learns from it: the score of held-out answers rises', async () => {
  const data = { dataset: 'sums', heldOut: { dataset: 'sums-held-out', rows: 24 } };
  const { items, before, after } = await finished(
    ppo({ model: 'abacus', adapter: { run: judge } }, { data }, 5),
  );
  expect(after!['held_out/sampled']).toBeGreaterThan(before!['held_out/sampled']! + 0.5);
  // merged, it gives the same scores
  const again = await finished(ppo({ model: merged }, {}, 1));
  const first = (all: FollowItem[]) => all.find((item) => item.kind === 'step')!.metrics['reward/mean']!;
  expect(first(again.items)).toBeCloseTo(first(items), 5);
}, 120_000);
