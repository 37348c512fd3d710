import { expect, it } from 'vitest';
import { engineBusy, LANES, type Timeline } from '../../../shared/contract/timeline';
import { scriptedEngine } from '../testing/scripted-engine';
import { train } from './loop';
import { exactSum, jobs, rewarded, sums, when } from './testing';
import { StepClock } from './timeline';

const make = jobs();

const has = ({ spans }: Timeline, lane: string, phase: string) =>
  spans.some((span) => span.lane === lane && span.phase === phase);

/** Spans lie within the step, those of a lane after one another, and no lane works longer than its spans. */
function expectWhole(timeline: Timeline) {
  const { length, spans } = timeline;
  for (const lane of LANES) {
    let at = 0;
    for (const { start, end, busy } of spans.filter((span) => span.lane === lane)) {
      expect(start).toBeGreaterThanOrEqual(at);
      expect(end).toBeGreaterThanOrEqual(start);
      expect(busy).toBeLessThanOrEqual(end - start);
      at = end;
    }
    expect(at).toBeLessThanOrEqual(length);
  }
}

it('has every step of a run, one after the other, with what was done in it', async () => {
  const run = make();
  await train(run);
  const timelines = run.store.timelines();
  expect(timelines.map(({ step }) => step)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
  timelines.forEach(expectWhole);
  timelines.slice(1).forEach((next, k) => {
    const before = timelines[k]!;
    expect(Math.abs(next.began - before.began - before.length / 1000)).toBeLessThan(0.01);
  });
  for (const timeline of timelines.slice(1)) {
    for (const [lane, phase] of [
      ['engine', 'rollout'],
      ['rewards', 'reward'],
      ['backend', 'rows'],
      ['engine', 'update'],
    ] as const)
      expect(has(timeline, lane, phase), `${timeline.step} ${phase}`).toBe(true);
    expect(timeline.spans.length).toBeLessThan(14);
  }
  expect(timelines.filter((t) => has(t, 'engine', 'evaluate')).map(({ step }) => step)).toEqual([0, 10]);
  expect(timelines.filter((t) => has(t, 'backend', 'checkpoint')).map(({ step }) => step)).toEqual([
    4, 8, 10,
  ]);
  expect(timelines.filter((t) => has(t, 'backend', 'proof')).map(({ step }) => step)).toEqual([10]);
});

it('leaves out what was thrown away, and the time that a run was paused', async () => {
  let held = false;
  const run = make(
    { steps: 4 },
    {
      engine: scriptedEngine({
        duringGenerate: (call) => {
          // the second step's answers; two generations came before the first
          if (call !== 3 || held) return;
          held = true;
          run.control.want('pause');
        },
      }),
    },
  );
  void when(run.store, () => run.store.status()?.status === 'paused').then(async () => {
    await new Promise((resolve) => setImmediate(resolve));
    run.control.want('run');
  });
  expect(await train(run)).toBe('completed');
  const timelines = run.store.timelines();
  expect(timelines.map(({ step }) => step)).toEqual([0, 1, 2, 3, 4]);
  timelines.forEach(expectWhole);
  // the pause lies between the first step's end and the second's new beginning
  const [, first, second] = timelines as [Timeline, Timeline, Timeline];
  expect(second.began - first.began - first.length / 1000).toBeGreaterThan(0.1);
});

it('is begun anew with its step when a run goes on from a checkpoint', async () => {
  const first = make({ steps: 6 });
  void when(first.store, () => first.store.lastStep() >= 5).then(() => first.control.want('close'));
  expect(await train(first)).toBe('closed');
  const saved = first.store.checkpoints().at(-1)!.step;
  const before = first.store.timelines().filter(({ step }) => step <= saved);
  const again = make({ steps: 6 }, { folder: first.folder, store: first.store });
  expect(await train(again)).toBe('completed');
  const after = again.store.timelines();
  expect(after.map(({ step }) => step)).toEqual([0, 1, 2, 3, 4, 5, 6]);
  expect(after.slice(0, before.length)).toEqual(before);
});

it("counts the engine's own clock, and a wait for its turn only once", async () => {
  const clock = new StepClock();
  let release!: () => void;
  const gate = new Promise<void>((resolve) => (release = resolve));
  const engine = clock.watch(scriptedEngine({ beforeStep: () => gate }));
  clock.begin(1);
  const { id } = await engine.createAdapter(
    1 as never,
    { rank: 1, alpha: 1, targetModules: [], seed: 0 } as never,
  );
  const optimizer = await engine.createOptimizer({ kind: 'adapter', adapter: id }, {} as never);
  const request = {
    optimizer,
    rows: { ids: new Int32Array(), lengths: new Int32Array() },
    inputs: {},
    learningRate: 1,
  };
  const both = [engine.step(request as never), engine.step(request as never)];
  const started = performance.now();
  while (performance.now() - started < 30);
  release();
  await Promise.all(both);
  clock.end(1);
  const [timeline] = clock.ended;
  expectWhole(timeline!);
  expect(timeline!.spans).toHaveLength(1);
  // 10 ms each by the engine's clock; the second waited for the first, and is cut to what was left
  expect(engineBusy(timeline!)).toBeGreaterThanOrEqual(10_000);
  expect(engineBusy(timeline!)).toBeLessThanOrEqual(20_000);
});

it('shows a slow reward beside the sampling that hides it', async () => {
  let release!: () => void;
  const scored = new Promise<void>((resolve) => (release = resolve));
  const slow = {
    ...exactSum,
    score: async (...args: Parameters<typeof exactSum.score>) => {
      release();
      return exactSum.score(...args);
    },
  };
  const run = make(
    { steps: 1 },
    {
      data: { kind: 'rollouts', rows: sums(13), heldOut: [] },
      rewards: rewarded(slow),
      engine: scriptedEngine({ duringGenerate: () => scored }),
    },
  );
  await train(run);
  const [timeline] = run.store.timelines();
  const span = (phase: string) => timeline!.spans.find((one) => one.phase === phase)!;
  expect(span('reward').start).toBeLessThan(span('rollout').end);
});
