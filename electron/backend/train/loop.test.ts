import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { algorithmByKey } from '../../../shared/algorithms';
import type { Progress, StoredRow } from '../../../shared/contract/runs';
import { RunStore } from '../store';
import { scriptedEngine, scriptedText } from '../testing/scripted-engine';
import { train } from './loop';
import {
  adapterOf,
  events,
  exactSum,
  job,
  jobs,
  rewarded,
  rows,
  statuses,
  sums,
  tempFolder,
  when,
} from './testing';

const make = jobs();

const steps = (store: RunStore) => rows(store).filter((row) => row.kind === 'step');
/** Without what time makes of it. */
const learning = (row: StoredRow) =>
  row.kind === 'step'
    ? [row.step, Object.entries(row.metrics).filter(([key]) => !key.startsWith('perf/'))]
    : row.kind;

describe('a run', () => {
  it('measures, learns, saves, reads back and completes', async () => {
    const run = make();
    expect(await train(run)).toBe('completed');
    expect(statuses(run.store)).toEqual(['running', 'completed']);
    expect(steps(run.store).map((row) => (row as { step: number }).step)).toEqual([
      1, 2, 3, 4, 5, 6, 7, 8, 9, 10,
    ]);
    expect(run.store.checkpoints().map((c) => c.step)).toContain(10);
    const [before, after] = run.store.evaluations();
    expect(before!.metrics['held_out/sampled']!).toBeLessThan(0.5);
    expect(after!.metrics['held_out/sampled']!).toBeGreaterThan(before!.metrics['held_out/sampled']! + 0.3);
    expect(before!.metrics).toHaveProperty('held_out/greedy');
    const { metrics } = steps(run.store)[0] as { metrics: Record<string, number> };
    for (const key of [
      'reward/mean',
      'reward/std',
      'reward/zero_variance',
      'rollout/length',
      'train/lr',
      'train/grad_norm',
    ]) {
      expect(metrics[key], key).toBeTypeOf('number');
    }
    const page = run.store.rollouts({ sort: 'order', descending: false, offset: 0, limit: 200 });
    expect(page.total).toBe(10 * 4 * 8);
    const right = page.rollouts.find((r) => r.reward === 1)!;
    expect(right.completion).toBe(right.answer);
    const tokens = run.store.tokens(right.id)!;
    expect(await scriptedText.decode(tokens.ids)).toBe(right.completion);
    expect(tokens.logp).toHaveLength(tokens.ids.length);
  });

  it('reports its phases, at most 10 times a second within one', async () => {
    const seen: Progress[] = [];
    const run = make({ steps: 2 }, { onProgress: (progress) => seen.push(progress) });
    await train(run);
    expect([...new Set(seen.map((p) => p.phase))]).toEqual([
      'evaluate',
      'rollout',
      'reward',
      'train',
      'checkpoint',
      'finishing',
    ]);
    expect(seen.findLast((p) => p.phase === 'train')).toMatchObject({
      step: 2,
      steps: 2,
      etaSeconds: expect.any(Number),
    });
  });

  it('that changed nothing has failed, whatever it ran', async () => {
    const run = make(
      {},
      {
        rewards: rewarded({
          ...exactSum,
          score: async (s) => s.map(() => ({ reward: 1, status: 'ok', milliseconds: 0 })),
        }),
      },
    );
    await expect(train(run)).rejects.toMatchObject({
      message: expect.stringContaining('Nothing was learnt'),
    });
    expect(statuses(run.store)).not.toContain('completed');
    expect(events(run.store)).toContain('zero_variance');
  });

  it('on examples needs no reward and takes each row once an epoch', async () => {
    const encode = (text: string) => scriptedText.encode(text);
    const examples = Array.from({ length: 10 }, (_, k) => ({
      line: k + 1,
      ids: encode(`${k}+1=${k + 1}\n`),
      lossMask: Uint8Array.from(encode(`${k}+1=${k + 1}\n`), (_id, t) => (t > 3 ? 1 : 0)),
    }));
    const algorithm = algorithmByKey('sft')!;
    const run = make(
      { epochs: 2, batchSize: 4, learningRate: 0.1 },
      {
        algorithm,
        data: { kind: 'examples', rows: examples, heldOut: examples.slice(0, 3) },
        rewards: [],
      },
    );
    expect(await train(run)).toBe('completed');
    expect(steps(run.store)).toHaveLength(6);
    const [before, after] = run.store.evaluations();
    expect(after!.metrics['held_out/nll']!).toBeLessThan(before!.metrics['held_out/nll']!);
  });
});

describe("a step's row", () => {
  it('is written while the next step is sampled, and before its checkpoint', async () => {
    const asked: [number, number][] = [];
    const during: number[] = [];
    const run = make(
      { steps: 6 },
      {
        data: { kind: 'rollouts', rows: sums(13), heldOut: [] },
        engine: scriptedEngine({
          beforeGenerate: () => void asked.push([run.store.lastStep(), run.store.checkpoints().length]),
          duringGenerate: () => void during.push(run.store.lastStep()),
        }),
      },
    );
    expect(await train(run)).toBe('completed');
    // step 4 has a checkpoint, for which its row had to be there
    expect(asked).toEqual([
      [0, 0],
      [0, 0],
      [1, 0],
      [2, 0],
      [4, 1],
      [4, 1],
    ]);
    expect(during).toEqual([0, 1, 2, 3, 4, 5]);
    expect(run.store.lastStep()).toBe(6);
  });

  it('that cannot be written ends the run, and what was begun beside it', async () => {
    const run = make({}, { data: { kind: 'rollouts', rows: sums(13), heldOut: [] } });
    const { generate } = run.engine;
    const signals: AbortSignal[] = [];
    run.engine.generate = (request, hooks) => {
      signals.push(hooks!.signal!);
      return generate(request, hooks);
    };
    run.store.addStep = () => {
      throw new Error('the store is gone');
    };
    await expect(train(run)).rejects.toThrow('the store is gone');
    expect(signals.map(({ aborted }) => aborted)).toEqual([false, true]);
    expect(run.engine.calls.step).toBe(1);
  });
});

describe('a run that ended in the middle', () => {
  /** Runs until the step is stored, then as if the process had died. */
  async function dieAfter(step: number, folder: string) {
    const first = job({}, { folder });
    void when(first.store, () => first.store.lastStep() >= step).then(() => first.control.want('close'));
    expect(await train(first)).toBe('closed');
    first.store.close();
  }

  it('goes on from its last checkpoint and ends as one that was never interrupted, bit for bit', async () => {
    const whole = make();
    await train(whole);
    const folder = tempFolder();
    await dieAfter(6, folder);
    const second = make({}, { folder });
    expect(second.store.lastStep()).toBeGreaterThanOrEqual(6);
    let first: number | null = null;
    void when(second.store, () => (first ??= second.store.lastStep()) >= 10);
    expect(await train(second)).toBe('completed');
    expect(adapterOf(folder, 10)).toBe(adapterOf(whole.folder, 10));
    expect(steps(second.store).map(learning)).toEqual(steps(whole.store).map(learning));
    expect(events(second.store)).toContain('resumed');
    // steps 1 to 4 stood before the checkpoint and were not computed again
    expect(second.engine.calls.step).toBe(6);
    expect(second.store.evaluations()).toHaveLength(2);
    const seqs = rows(second.store).map((row) => row.seq);
    expect(seqs).toEqual([...new Set(seqs)].sort((a, b) => a - b));
  });

  it('with a critic goes on with it and its optimiser, bit for bit', async () => {
    const ppo = () => ({ algorithm: algorithmByKey('ppo')! });
    const settings = { steps: 10, prompts: 4, groupSize: 4, criticWarmup: 2, criticLearningRate: 0.1 };
    const whole = make(settings, ppo());
    expect(await train(whole)).toBe('completed');
    const { metrics } = steps(whole.store)[0] as { metrics: Record<string, number> };
    expect(metrics['critic/loss']).toBeTypeOf('number');
    // two steps of the critic alone, then both, twice over each step's answers
    expect(whole.engine.calls.step).toBe(2 * 2 + 8 * 4);
    const folder = tempFolder();
    const first = job(settings, { ...ppo(), folder });
    void when(first.store, () => first.store.lastStep() >= 6).then(() => first.control.want('close'));
    expect(await train(first)).toBe('closed');
    first.store.close();
    expect((await first.engine.stats()).adapters).toBe(0);
    const second = make(settings, { ...ppo(), folder });
    expect(await train(second)).toBe('completed');
    const critic = (of: string) =>
      readFileSync(join(of, 'checkpoints/step-00000010/critic/adapter_model.safetensors'), 'utf8');
    expect(adapterOf(folder, 10)).toBe(adapterOf(whole.folder, 10));
    expect(critic(folder)).toBe(critic(whole.folder));
    expect(steps(second.store).map(learning)).toEqual(steps(whole.store).map(learning));
  });

  it('differs when its optimiser starts from zero', async () => {
    const folder = tempFolder();
    await dieAfter(4, folder);
    const whole = make();
    await train(whole);
    const engine = scriptedEngine();
    const load = engine.loadOptimizer;
    engine.loadOptimizer = async (id, file) => {
      writeFileSync(
        `${folder}/zero`,
        JSON.stringify({ ...(JSON.parse(readFileSync(file, 'utf8')) as object), moments: [0, 0, 0, 0] }),
      );
      await load(id, `${folder}/zero`);
    };
    await train(make({}, { folder, engine }));
    expect(adapterOf(folder, 10)).not.toBe(adapterOf(whole.folder, 10));
  });

  it('twice in a row still ends the same', async () => {
    const whole = make();
    await train(whole);
    const folder = tempFolder();
    await dieAfter(5, folder);
    await dieAfter(8, folder);
    await train(make({}, { folder }));
    expect(adapterOf(folder, 10)).toBe(adapterOf(whole.folder, 10));
  });

  it('before its first checkpoint starts again', async () => {
    const folder = tempFolder();
    await dieAfter(2, folder);
    const again = make({}, { folder });
    await train(again);
    expect(steps(again.store)).toHaveLength(10);
  });

  it('with a damaged last checkpoint takes the one before, and says so', async () => {
    const folder = tempFolder();
    await dieAfter(9, folder);
    writeFileSync(join(folder, 'checkpoints/step-00000008/optimizer.safetensors'), 'garbage');
    const again = make({}, { folder });
    await train(again);
    expect(events(again.store)).toEqual(expect.arrayContaining(['checkpoint_damaged', 'resumed']));
    const whole = make();
    await train(whole);
    expect(adapterOf(folder, 10)).toBe(adapterOf(whole.folder, 10));
  });

  it('that cannot be read leaves nothing in the engine, which outlives the run', async () => {
    const folder = tempFolder();
    await dieAfter(5, folder);
    const engine = scriptedEngine();
    engine.loadOptimizer = () => Promise.reject(new Error('unreadable'));
    await expect(train(make({}, { folder, engine }))).rejects.toThrow('unreadable');
    expect((await engine.stats()).adapters).toBe(0);
  });

  it('refuses to go on with another reward', async () => {
    const folder = tempFolder();
    await dieAfter(5, folder);
    const other = make({}, { folder, belongsTo: { model: 'm', reward: 'other' } });
    await expect(train(other)).rejects.toMatchObject({
      code: 'conflict',
      message: expect.stringContaining('reward'),
    });
    expect(other.store.checkpoints().map((c) => c.step)).toEqual([4]);
  });
});

describe('pause, resume, stop', () => {
  it('pauses within a rollout, keeps what was learnt, and goes on exactly', async () => {
    const whole = make();
    await train(whole);
    let reached!: () => void;
    let release!: () => void;
    const inRollout = new Promise<void>((resolve) => (reached = resolve));
    const held = new Promise<void>((resolve) => (release = resolve));
    // two generations measure the held-out rows, then each step has one
    const engine = scriptedEngine({
      beforeGenerate: (call) => {
        if (call !== 2 + 5) return undefined;
        reached();
        return held;
      },
    });
    const run = make({}, { engine });
    const ended = train(run);
    await inRollout;
    run.control.want('pause');
    release();
    await when(run.store, () => run.store.status()?.status === 'paused');
    expect(run.store.checkpoints().at(-1)!.step).toBe(5);
    run.control.want('run');
    expect(await ended).toBe('completed');
    expect(adapterOf(run.folder, 10)).toBe(adapterOf(whole.folder, 10));
    expect(statuses(run.store)).toEqual(['running', 'paused', 'running', 'completed']);
  });

  it('stops with what was learnt saved', async () => {
    const run = make();
    void when(run.store, () => run.store.lastStep() >= 3).then(() => run.control.want('stop'));
    expect(await train(run)).toBe('stopped');
    const { step } = run.store.checkpoints().at(-1)!;
    expect(step).toBe(run.store.lastStep());
    expect(run.store.status()).toMatchObject({
      status: 'stopped',
      message: expect.stringContaining(`step ${step}`),
    });
  });

  it('stops before the first step without a checkpoint', async () => {
    const run = make();
    run.control.want('stop');
    expect(await train(run)).toBe('stopped');
    expect(run.store.checkpoints()).toEqual([]);
  });
});
