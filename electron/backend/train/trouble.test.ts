import { describe, expect, it } from 'vitest';
import type { RunStore } from '../store';
import { scriptedEngine } from '../testing/scripted-engine';
import type { Sample, Score, Scorer } from './job';
import { train } from './loop';
import { adapterOf, events, exactSum, jobs, rewarded, rows, statuses, when } from './testing';

const make = jobs();

const paused = (store: RunStore) => when(store, () => store.status()?.status === 'paused');

describe('a full disk', () => {
  it('at a checkpoint pauses the run, keeps the checkpoint before, and goes on exactly when there is room', async () => {
    const whole = make();
    await train(whole);
    const engine = scriptedEngine();
    let full = false;
    const save = engine.saveOptimizer;
    engine.saveOptimizer = (id, file) =>
      full
        ? Promise.reject(Object.assign(new Error('write: No space left on device'), { code: 'io' }))
        : save(id, file);
    const run = make({}, { engine });
    void when(run.store, () => run.store.lastStep() >= 5).then(() => (full = true));
    const ended = train(run);
    await paused(run.store);
    expect(run.store.status()!.message).toContain('disk is full');
    expect(events(run.store)).toContain('disk_full');
    expect(run.store.checkpoints().map((c) => c.step)).toEqual([4]);
    full = false;
    run.control.want('run');
    expect(await ended).toBe('completed');
    expect(adapterOf(run.folder, 10)).toBe(adapterOf(whole.folder, 10));
  });

  it('still lets the run be stopped', async () => {
    const engine = scriptedEngine();
    engine.saveAdapter = () => Promise.reject(Object.assign(new Error('ENOSPC'), { code: 'ENOSPC' }));
    const run = make({}, { engine });
    const ended = train(run);
    await paused(run.store);
    run.control.want('stop');
    await expect(ended).rejects.toMatchObject({ code: 'disk_full' });
  });

  it('at the start is told before anything is computed: where, and how much is needed', async () => {
    const engine = scriptedEngine();
    const create = engine.createAdapter;
    engine.createAdapter = async (model, spec) => ({ ...(await create(model, spec)), parameters: 1e15 });
    const run = make({}, { engine });
    const ended = train(run);
    await paused(run.store);
    expect(run.store.status()!.message).toContain(`needs 12000000002 MB in ${run.folder}`);
    expect(engine.calls.generate).toBe(0);
    run.control.want('stop');
    expect(await ended).toBe('stopped');
  });

  it('does not make the run forget why its last step ends it', async () => {
    const run = make({}, { engine: scriptedEngine({ nonFiniteSteps: [2, 5] }) });
    const add = run.store.addStep.bind(run.store);
    let isFull = true;
    run.store.addStep = (row) => {
      if (row.step === 6 && isFull)
        throw Object.assign(new Error('database or disk is full'), { code: 'SQLITE_FULL' });
      add(row);
    };
    const ended = train(run);
    await paused(run.store);
    isFull = false;
    run.control.want('stop');
    await expect(ended).rejects.toMatchObject({ message: expect.stringContaining('not finite 2 times') });
    expect(run.store.lastStep()).toBe(6);
    expect(run.store.checkpoints().map((c) => c.step)).toEqual([4]);
  });
});

/** Rewards of which a share fails while `broken` holds. */
function failing(share: number, broken: (step: number) => boolean = () => true): Scorer {
  return {
    ...exactSum,
    takes: 'all',
    async score(samples: Sample[], key, signal): Promise<Score[]> {
      const scores = await exactSum.score(samples, key, signal);
      const count = key.step > 0 && broken(key.step) ? share * samples.length : 0;
      return scores.map((score, k) =>
        k < count ? { reward: null, status: 'error', error: 'boom at 3:7', milliseconds: 0 } : score,
      );
    },
  };
}

describe('rewards that fail', () => {
  it('are left out, never 0, and warned of above 5 %: once, and when it is over', async () => {
    const run = make({ steps: 14 }, { rewards: rewarded(failing(0.1, (step) => step <= 3)) });
    await train(run);
    const told = rows(run.store).filter((row) => row.kind === 'event' && row.code === 'reward_failing');
    expect(told).toMatchObject([
      { step: 1, level: 'warning', message: expect.stringContaining('boom at 3:7') },
      { step: 13, level: 'info' },
    ]);
    const page = run.store.rollouts({ step: 1, sort: 'order', descending: false, offset: 0, limit: 3 });
    expect(page.rollouts[0]).toMatchObject({
      reward: null,
      advantage: null,
      status: 'error',
      error: 'boom at 3:7',
    });
  });

  it('above 20 % hold the step back: saved, asked, and repeated as if nothing had been', async () => {
    const whole = make();
    await train(whole);
    let broken = true;
    const run = make({}, { rewards: rewarded(failing(0.3, (step) => step === 6 && broken)) });
    const ended = train(run);
    await paused(run.store);
    expect(run.store.status()!.message).toMatch(
      /failed for 31 % .*boom at 3:7.*Step 6 was not learnt; what was learnt until step 5 is saved\..*Resume/s,
    );
    expect(run.store.lastStep()).toBe(5);
    expect(run.store.checkpoints().at(-1)!.step).toBe(5);
    const held = { step: 6, sort: 'order', descending: false, offset: 0, limit: 1 } as const;
    expect(run.store.rollouts(held)).toMatchObject({ total: 32, rollouts: [{ error: 'boom at 3:7' }] });
    broken = false;
    run.control.want('run');
    expect(await ended).toBe('completed');
    expect(run.store.rollouts(held)).toMatchObject({ total: 32, rollouts: [{ status: 'ok' }] });
    expect(adapterOf(run.folder, 10)).toBe(adapterOf(whole.folder, 10));
  });

  it('that fail again after a resume are left out, and the run goes on', async () => {
    const run = make({}, { rewards: rewarded(failing(0.3)) });
    const ended = train(run);
    await paused(run.store);
    expect(run.store.status()!.message).toContain('Step 1 was not learnt.');
    run.control.want('run');
    expect(await ended).toBe('completed');
    expect(events(run.store).filter((code) => code === 'reward_failing')).toHaveLength(1);
    expect(statuses(run.store)).toEqual(['running', 'paused', 'running', 'completed']);
  });

  it('are asked about once, also where the answer comes after the backend was closed', async () => {
    const run = make({}, { rewards: rewarded(failing(0.3, (step) => step === 6)) });
    const ended = train(run);
    await paused(run.store);
    run.control.want('close');
    expect(await ended).toBe('closed');
    run.store.close();
    const again = make({}, { rewards: rewarded(failing(0.3, (step) => step === 6)), folder: run.folder });
    expect(await train(again)).toBe('completed');
    expect(
      again.store.rollouts({ step: 6, sort: 'order', descending: false, offset: 0, limit: 1 }).total,
    ).toBe(32);
    expect(rows(again.store)).toContainEqual(
      expect.objectContaining({ code: 'reward_failing', step: 6, level: 'warning' }),
    );
  });

  it('pause again after three steps that had nothing to learn from', async () => {
    const run = make({}, { rewards: rewarded(failing(1)) });
    const ended = train(run);
    await paused(run.store);
    run.control.want('run');
    await when(run.store, () => run.store.lastStep() === 2 && run.store.status()?.status === 'paused');
    expect(run.store.status()!.message).toMatch(/No group had two rewarded answers for 3 steps.*Step 3/);
    run.control.want('run');
    await when(run.store, () => run.store.lastStep() === 5 && run.store.status()?.status === 'paused');
    run.control.want('stop');
    expect(await ended).toBe('stopped');
  });
});

describe('numbers that are not finite', () => {
  it('cost one update, and end the run when they come again', async () => {
    const once = make({}, { engine: scriptedEngine({ nonFiniteSteps: [2] }) });
    expect(await train(once)).toBe('completed');
    expect(events(once.store).filter((code) => code === 'non_finite')).toHaveLength(1);
    const twice = make({}, { engine: scriptedEngine({ nonFiniteSteps: [2, 6] }) });
    await expect(train(twice)).rejects.toMatchObject({ message: expect.stringContaining('not finite') });
    expect(twice.store.checkpoints().map((c) => c.step)).toEqual([4]);
  });

  it('are never saved', async () => {
    const engine = scriptedEngine();
    engine.adapterNorms = async () => [{ name: 'layers.0.q_proj', maxA: 1, maxB: NaN }];
    const run = make({}, { engine });
    await expect(train(run)).rejects.toMatchObject({ message: expect.stringContaining('layers.0.q_proj') });
    expect(run.store.checkpoints()).toEqual([]);
  });
});

it('an adapter of which a module does not move after three updates ends the run', async () => {
  const engine = scriptedEngine();
  engine.adapterNorms = async () => [
    { name: 'layers.0.q_proj', maxA: 1, maxB: 0.1 },
    { name: 'layers.0.v_proj', maxA: 1, maxB: 0 },
  ];
  const run = make({}, { engine });
  await expect(train(run)).rejects.toMatchObject({
    message: expect.stringMatching(/1 of its 2 modules.*layers\.0\.v_proj/),
  });
  expect(run.store.lastStep()).toBeLessThan(5);
  expect(events(run.store)).toContain('adapter_still');
});
