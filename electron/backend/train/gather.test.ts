import { describe, expect, it } from 'vitest';
import { algorithmByKey } from '../../../shared/algorithms';
import type { ScoreRequest } from '../../../native/face';
import { scriptedEngine } from '../testing/scripted-engine';
import { gatherPairs, gatherRated } from './gather-rated';
import { gatherRollouts } from './gather-rollouts';
import type { Example, RatedRow } from '../datasets';
import type { Scorer, TrainJob } from './job';
import { planOf } from './plan';
import { openPolicy } from './policy';
import { ProgressMeter } from './progress';
import { jobs, rewarded } from './testing';
import { timed } from './timeline';

const make = jobs();

const forever = new AbortController().signal;
const meter = new ProgressMeter(1, () => undefined);

/** An engine whose log-probabilities say which model and token they are of. */
function tellingEngine() {
  const scored: ScoreRequest[] = [];
  const engine = scriptedEngine();
  engine.score = (request) => {
    scored.push(request);
    const sign = request.adapter === null ? -1 : 1;
    const logp: number[] = [];
    let offset = 0;
    for (const length of request.rows.lengths) {
      for (let t = 1; t < length; t++) logp.push(sign * request.rows.ids[offset + t]!);
      offset += length;
    }
    return Promise.resolve({ seconds: 0, logp: Float32Array.from(logp) });
  };
  return { engine, scored };
}

const policyOf = async (run: TrainJob) => openPolicy(run, run.algorithm.needs(run.params));

const rollouts = async (run: TrainJob, step = 1) =>
  gatherRollouts(timed(run), await planOf(run), await policyOf(run), step, meter, forever);

/** Every other prompt has answers of different worth. */
const halfAlive: Scorer = {
  hash: 'half',
  takes: 'answer',
  score: (samples) =>
    Promise.resolve(
      samples.map(({ prompt, index }) => ({
        reward: prompt.line % 2 === 0 ? index % 2 : 1,
        status: 'ok',
        milliseconds: 0,
      })),
    ),
};

describe('dynamic sampling', () => {
  it('tries more prompts until enough have contrast, and keeps those', async () => {
    const run = make({ prompts: 4, groupSize: 2, resample: 4 }, { rewards: rewarded(halfAlive) });
    const { groups, rollouts: answers, rows, metrics } = await rollouts(run);
    expect(groups).toHaveLength(4);
    expect(groups.every(({ line }) => line % 2 === 0)).toBe(true);
    expect(new Set(groups.map(({ line }) => line)).size).toBe(4);
    expect(new Set(groups.map(({ group }) => group)).size).toBe(4);
    expect(answers).toHaveLength(8);
    expect(rows.every(({ use }) => use === 'train')).toBe(true);
    expect(metrics['rollout/sampled_groups']).toBeGreaterThan(4);
    expect(metrics['reward/zero_variance']).toBe(0);
  });

  it.each([{ beta: 0.1 }, { entropyBonus: 0.01 }, { entropyShare: 0.5 }])(
    'looks at rewards alone, where more than they moves the weights: %j',
    async (more) => {
      const { engine } = tellingEngine();
      const run = make(
        { prompts: 4, groupSize: 2, resample: 4, ...more },
        { engine, rewards: rewarded(halfAlive) },
      );
      const { groups, metrics } = await rollouts(run);
      expect(groups.every(({ line }) => line % 2 === 0)).toBe(true);
      expect(metrics['rollout/sampled_groups']).toBeGreaterThan(4);
    },
  );

  it('measures all that was sampled: groups left aside were answered as well', async () => {
    const all: number[] = [];
    const half: Scorer = {
      hash: 'half',
      takes: 'answer',
      score: async (samples, key, signal) => {
        const scores = (await halfAlive.score(samples, key, signal)).map((score, k) =>
          samples[k]!.prompt.line % 4 === 1
            ? { reward: null, status: 'error' as const, milliseconds: 0 }
            : score,
        );
        all.push(...scores.flatMap(({ reward }) => (reward === null ? [] : [reward])));
        return scores;
      },
    };
    const run = make({ prompts: 4, groupSize: 2, resample: 4 }, { rewards: rewarded(half) });
    const { metrics, failed, total, rollouts: answers } = await rollouts(run);
    expect(answers.every(({ status }) => status === 'ok')).toBe(true);
    expect(total).toBe(2 * metrics['rollout/sampled_groups']!);
    expect(failed).toBe(total - all.length);
    expect(failed).toBeGreaterThan(0);
    expect(metrics['reward/mean']).toBeCloseTo(all.reduce((a, b) => a + b) / all.length, 12);
    expect(metrics['reward/mean']).toBeGreaterThan(0.5);
  });

  it('gives the same step again when it is asked again', async () => {
    const run = make({ prompts: 4, groupSize: 2, resample: 4 }, { rewards: rewarded(halfAlive) });
    const [once, again] = [await rollouts(run), await rollouts(run)];
    expect(again.groups).toEqual(once.groups);
    expect(again.rollouts.map((r) => r.completion)).toEqual(once.rollouts.map((r) => r.completion));
  });

  it('ends after its rounds, filled up with groups without contrast', async () => {
    const equal: Scorer = {
      hash: 'equal',
      takes: 'answer',
      score: (samples) => Promise.resolve(samples.map(() => ({ reward: 1, status: 'ok', milliseconds: 0 }))),
    };
    const { groups, metrics } = await rollouts(
      make({ prompts: 4, groupSize: 2, resample: 1 }, { rewards: rewarded(equal) }),
    );
    expect(groups).toHaveLength(4);
    expect(metrics).toMatchObject({ 'rollout/sampled_groups': 8, 'reward/zero_variance': 1 });
  });

  it('is off by default', async () => {
    const { groups, metrics } = await rollouts(
      make({ prompts: 4, groupSize: 2 }, { rewards: rewarded(halfAlive) }),
    );
    expect(groups).toHaveLength(4);
    expect(metrics).not.toHaveProperty('rollout/sampled_groups');
  });
});

describe('log-probabilities of other policies', () => {
  it('of the reference are on the targets, once, also where the reward wants them', async () => {
    const { engine, scored } = tellingEngine();
    const rloo = algorithmByKey('rloo')!;
    const run = make({ steps: 1, prompts: 2, groupSize: 2, klInReward: 0.1 }, { engine, algorithm: rloo });
    await rollouts(run);
    expect(scored).toHaveLength(1);
    const grpo = make({ prompts: 2, groupSize: 4, beta: 0.1 }, { engine });
    const { rows } = await rollouts(grpo);
    const [row] = rows;
    expect([...(row!.values['refLogp'] as Float32Array)]).toEqual([...row!.ids.slice(1)].map((id) => -id));
    expect(row!.values).not.toHaveProperty('oldLogp');
  });

  it('of the policy before the update come where the ratio is taken to it', async () => {
    const { engine } = tellingEngine();
    const { rows } = await rollouts(make({ prompts: 2, groupSize: 4, correction: 'truncated' }, { engine }));
    expect([...(rows[0]!.values['oldLogp'] as Float32Array)]).toEqual([...rows[0]!.ids.slice(1)]);
  });
});

const example = (ids: number[], answer: number): Example => ({
  ids: Int32Array.from(ids),
  lossMask: Uint8Array.from(ids, (_, t) => (t >= answer ? 1 : 0)),
});

describe('rated rows', () => {
  it('of a pair are better and worse, side by side in one group, with their reference', async () => {
    const { engine } = tellingEngine();
    const pair = { line: 1, chosen: example([1, 2, 3, 4], 2), rejected: example([1, 2, 5], 2) };
    const dpo = algorithmByKey('dpo')!;
    const run = make({}, { engine, algorithm: dpo, data: { kind: 'pairs', rows: [pair], heldOut: [] } });
    const policy = await policyOf(run);
    const { rows } = await gatherPairs(run, await planOf(run), policy, [pair, pair], forever);
    expect(rows.map(({ group, values }) => [group, values['chosen']])).toEqual([
      [0, 1],
      [0, 0],
      [1, 1],
      [1, 0],
    ]);
    expect([...rows[0]!.loss]).toEqual([0, 1, 1]);
    expect(rows[1]!.values).toMatchObject({
      refLogp: Float32Array.of(-2, -5),
      chosenTokens: new Float32Array(2),
    });
  });

  it('have their KL measured on the next row’s answer to their own prompt', async () => {
    const { engine, scored } = tellingEngine();
    const rows = [
      { line: 1, good: true, ...example([1, 2, 30], 2) },
      { line: 2, good: false, ...example([7, 50, 60], 1) },
    ];
    const kto = algorithmByKey('kto')!;
    const run = make({}, { engine, algorithm: kto, data: { kind: 'rated', rows, heldOut: [] } });
    const policy = await policyOf(run);
    const gathered = await gatherRated(run, await planOf(run), policy, rows, forever);
    expect([...scored.at(-1)!.rows.ids]).toEqual([1, 2, 50, 60, 7, 30]);
    // policy - reference is twice the token
    expect(gathered.rows.map(({ values }) => values['mismatchedLogRatio'])).toEqual([220, 60]);
    expect(gathered.rows.map(({ values }) => values['label'])).toEqual([1, 0]);
  });

  /** Rows as KTO scores them to measure its KL, policy first. */
  async function mismatched(params: Record<string, unknown>, rows: RatedRow[], step: RatedRow[]) {
    const { engine, scored } = tellingEngine();
    const kto = algorithmByKey('kto')!;
    const run = make(params, { engine, algorithm: kto, data: { kind: 'rated', rows, heldOut: [] } });
    const policy = await policyOf(run);
    await gatherRated(run, await planOf(run), policy, step, forever);
    return [...scored.at(-1)!.rows.ids];
  }
  const rated = (line: number, ids: number[], answer: number): RatedRow => ({
    line,
    good: true,
    ...example(ids, answer),
  });

  it('are cut where another’s answer makes a row longer than any may be', async () => {
    const long = rated(1, [1, 2, 3, 4, 5, 6, 7, 80], 7);
    const short = rated(2, [9, 10, 11, 12, 13, 14, 15, 16], 1);
    expect(await mismatched({ maxTokens: 8 }, [long, short], [long, short])).toEqual([
      ...[1, 2, 3, 4, 5, 6, 7, 10],
      ...[9, 80],
    ]);
  });

  it('alone in a step take the answer of a row outside it; alone in the data they have none', async () => {
    const rows = [rated(1, [1, 20], 1), rated(2, [2, 30], 1), rated(3, [3, 40], 1)];
    expect(await mismatched({}, rows, [rows[2]!])).toEqual([3, 20]);
    await expect(mismatched({}, rows.slice(0, 1), rows.slice(0, 1))).rejects.toMatchObject({
      code: 'invalid_data',
      message: expect.stringContaining('one usable row'),
    });
  });
});
