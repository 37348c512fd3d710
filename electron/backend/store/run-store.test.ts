import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { connect, migrate } from './database';
import { migrations } from './schema';
import type { Timeline } from '../../../shared/contract/timeline';
import { RunStore, STORE_FILE, type FinishedStep } from './run-store';

let folder: string;
let store: RunStore;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'atelier-store-'));
  store = RunStore.open(folder);
});
afterEach(() => {
  store.close();
  rmSync(folder, { recursive: true });
});

function step(n: number, rewards: (number | null)[] = []): FinishedStep {
  return {
    step: n,
    metrics: { 'reward/mean': n / 10, 'policy/kl': NaN, 'policy/ratio': Infinity },
    groups: [{ group: 0, line: n, prompt: `${n} + 1 100%`, answer: null }],
    rollouts: rewards.map((reward, index) => ({
      group: 0,
      index,
      completion: `answer ${index}`,
      reward,
      status: reward === null ? 'error' : 'ok',
      error: reward === null ? 'threw at 3:1' : undefined,
      milliseconds: 1,
      rewardHash: 'h',
      advantage: reward,
      length: 10 - index,
      finish: 'stop',
      meanLogp: -0.5,
      ids: Int32Array.of(1, 2, index),
      logp: Float32Array.of(-1, NaN, -0.5),
    })),
    events:
      n === 2 ? [{ step: 2, level: 'warning', code: 'zero_variance', message: 'half', hint: 'harder' }] : [],
  };
}

describe('rows', () => {
  it('come back in one order, after any seq, with NaN and infinity kept', () => {
    store.setStatus('running');
    store.addStep(step(1));
    store.addStep(step(2));
    store.addEvaluation(2, { 'held_out/sampled': 0.5 });
    store.addCheckpoint({ step: 2, folder: 'step-2', bytes: 7, reward: 0.5, manifest: '{}' });
    store.setStatus('paused', 'by you');
    const rows = store.rowsAfter(0);
    expect(rows.map((row) => row.kind)).toEqual([
      'state',
      'step',
      'step',
      'event',
      'evaluation',
      'checkpoint',
      'state',
    ]);
    expect(rows.map((row) => row.seq)).toEqual([1, 2, 3, 4, 5, 6, 7]);
    expect(rows[1]).toMatchObject({ metrics: { 'policy/kl': NaN, 'policy/ratio': Infinity } });
    expect(store.rowsAfter(4, 2).map((row) => row.seq)).toEqual([5, 6]);
    expect(store.status()).toMatchObject({ status: 'paused', message: 'by you' });
  });

  it("tell a step's timeline as it was, and once more where it comes again", () => {
    const timeline = {
      step: 1,
      began: 1_790_000_000_000.25,
      length: 900,
      spans: [
        { lane: 'engine', phase: 'rollout', start: 0, end: 500, busy: 480 },
        { lane: 'rewards', phase: 'reward', start: 100, end: 700, busy: 600 },
      ],
    } satisfies Timeline;
    store.addStep(step(1));
    store.addTimelines([timeline]);
    expect(store.rowsAfter(1)).toEqual([{ kind: 'timeline', seq: 2, at: expect.any(Number), ...timeline }]);
    store.addTimelines([
      { ...timeline, length: 1000 },
      { ...timeline, step: 2 },
    ]);
    expect(store.timelines().map(({ step, length }) => [step, length])).toEqual([
      [1, 1000],
      [2, 900],
    ]);
    expect(store.rowsAfter(0).map(({ seq }) => seq)).toEqual([1, 3, 4]);
    store.rewindTo(1);
    expect(store.timelines()).toHaveLength(1);
    store.addTimelines([]);
    expect(store.rowsAfter(4)).toEqual([]);
  });

  it('never use a seq twice, also after a rewind and a new start', () => {
    store.addStep(step(1));
    store.addStep(step(2));
    store.addStep(step(3));
    store.close();
    store = RunStore.open(folder);
    store.setStatus('interrupted');
    store.rewindTo(1);
    store.addStep(step(2));
    expect(store.rowsAfter(0).map((row) => [row.kind, row.seq])).toEqual([
      ['step', 1],
      ['state', 5],
      ['step', 6],
      ['event', 7],
    ]);
  });

  it('are all or nothing: a step that fails leaves none, and no gap', () => {
    store.addStep(step(1));
    expect(() =>
      store.addStep({
        ...step(2, [1]),
        events: [{ step: 2, level: 'info', code: null as never, message: '' }],
      }),
    ).toThrow();
    store.addStep(step(2, [1]));
    expect(store.rowsAfter(1).map((row) => row.seq)).toEqual([2, 3]);
    expect(store.rollouts({ sort: 'order', descending: false, offset: 0, limit: 9 }).total).toBe(1);
  });

  it('tell who listens after each commit', () => {
    let calls = 0;
    const stop = store.onChange(() => calls++);
    store.addStep(step(1));
    store.setStatus('running');
    stop();
    store.addStep(step(2));
    expect(calls).toBe(2);
  });
});

describe('rollouts', () => {
  const page = { sort: 'order', descending: false, offset: 0, limit: 50 } as const;
  beforeEach(() => {
    store.addStep(step(1, [0, 1, null]));
    store.addStep(step(2, [0.5, 0.25]));
  });

  it('page, filter and sort, those without a reward last either way', () => {
    expect(store.rollouts({ ...page, limit: 2, offset: 4 })).toMatchObject({
      total: 5,
      rollouts: [{ step: 2, index: 1 }],
    });
    expect(store.rollouts({ ...page, step: 2, group: 0 }).total).toBe(2);
    const rewards = (descending: boolean) =>
      store.rollouts({ ...page, sort: 'reward', descending }).rollouts.map((r) => r.reward);
    expect(rewards(false)).toEqual([0, 0.25, 0.5, 1, null]);
    expect(rewards(true)).toEqual([1, 0.5, 0.25, 0, null]);
    expect(store.rollouts({ ...page, sort: 'length' }).rollouts[0]).toMatchObject({
      length: 8,
      error: 'threw at 3:1',
    });
  });

  it('are searched literally', () => {
    expect(store.rollouts({ ...page, search: '100%' }).total).toBe(5);
    expect(store.rollouts({ ...page, search: '1_0' }).total).toBe(0);
    expect(store.rollouts({ ...page, search: 'ANSWER 2' }).total).toBe(1);
  });

  it('give their tokens back bit by bit', () => {
    const { rollouts } = store.rollouts({ ...page, step: 2 });
    expect(store.tokens(rollouts[1]!.id)).toEqual({
      ids: Int32Array.of(1, 2, 1),
      logp: Float32Array.of(-1, NaN, -0.5),
    });
    expect(store.tokens(999)).toBeNull();
  });

  it('are summed up by group', () => {
    expect(store.groups({ offset: 0, limit: 1 })).toEqual({
      total: 2,
      groups: [
        { step: 1, group: 0, prompt: '1 + 1 100%', size: 3, rewardMean: 0.5, rewardMin: 0, rewardMax: 1 },
      ],
    });
    expect(store.groups({ step: 2, offset: 0, limit: 9 }).groups).toHaveLength(1);
  });
});

describe('the file', () => {
  it('of a newer version is refused', () => {
    store.close();
    const raw = new Database(join(folder, STORE_FILE));
    raw.pragma('user_version = 99');
    raw.close();
    expect(() => RunStore.open(folder)).toThrow(/newer/);
    expect(() => RunStore.read(folder)).toThrow(/newer/);
    raw.close();
    const fix = new Database(join(folder, STORE_FILE));
    fix.pragma(`user_version = ${migrations.length}`);
    fix.close();
    store = RunStore.open(folder);
  });

  it('of the first version is read as it is', () => {
    const old = mkdtempSync(join(tmpdir(), 'atelier-store-'));
    const raw = new Database(join(old, STORE_FILE));
    raw.exec(migrations[0]!);
    raw.exec(`INSERT INTO steps VALUES (1, 0, 1, '{}');
      INSERT INTO groups VALUES (1, 0, 1, 'p', NULL);
      INSERT INTO rollouts VALUES (1, 1, 0, 0, 'c', 1, 'ok', NULL, 0, 'h', 0, 1, 'stop', -1, NULL, NULL)`);
    raw.pragma('user_version = 1');
    raw.close();
    const reader = RunStore.read(old);
    const query = { sort: 'order', descending: false, offset: 0, limit: 9 } as const;
    expect(reader.rollouts(query).rollouts).toMatchObject([{ reward: 1, components: [] }]);
    expect(reader.rowsAfter(0)).toMatchObject([{ kind: 'step', step: 1 }]);
    expect(reader.timelines()).toEqual([]);
    reader.close();
    // a run that goes on gets what it lacks, and keeps what it has
    const writer = RunStore.open(old);
    writer.addTimelines([{ step: 2, began: 1, length: 1, spans: [] }]);
    expect(writer.rowsAfter(0).map(({ kind, seq }) => [kind, seq])).toEqual([
      ['step', 1],
      ['timeline', 2],
    ]);
    writer.close();
    rmSync(old, { recursive: true });
  });

  it('that is damaged is said to be', () => {
    const other = mkdtempSync(join(tmpdir(), 'atelier-store-'));
    writeFileSync(join(other, STORE_FILE), 'not a database, only a text of some length '.repeat(40));
    expect(() => RunStore.read(other)).toThrow(/not a database|damaged/);
    rmSync(other, { recursive: true });
  });

  it('of an older version is copied, then migrated as a whole or not at all', () => {
    const file = join(folder, 'old.sqlite');
    const database = connect(file, 'normal');
    const one = ['CREATE TABLE a (x INTEGER); INSERT INTO a VALUES (1)'];
    migrate(database, file, one);
    expect(() => migrate(database, file, [...one, 'ALTER TABLE a ADD COLUMN y; broken'])).toThrow();
    expect(database.prepare('SELECT * FROM a').all()).toEqual([{ x: 1 }]);
    rmSync(`${file}.v1.bak`);
    migrate(database, file, [...one, 'ALTER TABLE a ADD COLUMN y INTEGER']);
    expect(database.prepare('SELECT * FROM a').all()).toEqual([{ x: 1, y: null }]);
    const copy = new Database(`${file}.v1.bak`);
    expect(copy.prepare('SELECT * FROM a').all()).toEqual([{ x: 1 }]);
    copy.close();
    database.close();
  });
});
