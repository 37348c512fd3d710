import { afterEach, expect, test, vi } from 'vitest';
import type { FollowItem } from '../../../shared/contract/runs';
import { AtelierError } from '../../../shared/rpc/errors';
import { RunStore } from './run-store';

const step = (seq: number, number = seq): FollowItem => ({
  kind: 'step',
  seq,
  at: 0,
  step: number,
  metrics: { 'reward/mean': number / 10 },
});
const state = (seq: number, status: 'running' | 'completed'): FollowItem => ({
  kind: 'state',
  seq,
  at: 0,
  status,
});

const stores: RunStore[] = [];
afterEach(() => stores.splice(0).forEach((store) => store.stop()));

/** A store over a script of streams: one entry each time it follows. */
function scripted(...streams: ((after: number) => AsyncGenerator<FollowItem>)[]) {
  const asked: number[] = [];
  const store = new RunStore((after, signal) => {
    asked.push(after);
    const next = streams.shift();
    return next === undefined ? forever(signal) : next(after);
  });
  stores.push(store);
  store.start();
  return { store, asked };
}

async function* forever(signal: AbortSignal): AsyncGenerator<FollowItem> {
  await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
  yield* [];
}

test('after a lost connection it follows from its last seq and misses nothing', async () => {
  const { store, asked } = scripted(
    async function* () {
      yield state(1, 'running');
      yield step(2, 1);
      yield step(3, 2);
      throw new AtelierError('unavailable', 'gone');
    },
    async function* () {
      yield step(4, 3);
      yield { kind: 'live' };
      yield state(5, 'completed');
    },
  );
  await vi.waitFor(() => expect(store.view().phase).toBe('ended'));
  expect(asked).toEqual([0, 3]);
  expect([...store.series.steps]).toEqual([1, 2, 3]);
  expect(store.view().status).toBe('completed');
});

test('a reader that fell behind follows at once, and rows it has already are not taken twice', async () => {
  const { store, asked } = scripted(
    async function* () {
      yield step(1);
      yield step(2);
      throw new AtelierError('behind', 'slow');
    },
    async function* () {
      yield step(2);
      yield step(3);
      yield { kind: 'live' };
      yield* forever(new AbortController().signal);
    },
  );
  await vi.waitFor(() => expect(store.view().phase).toBe('live'));
  expect(asked).toEqual([0, 2]);
  expect([...store.series.steps]).toEqual([1, 2, 3]);
});

test('an error that will not pass by itself is shown and not asked for again', async () => {
  const { store, asked } = scripted(async function* () {
    yield state(1, 'running');
    throw new AtelierError('not_found', 'There is no such run.');
  });
  await vi.waitFor(() => expect(store.view().phase).toBe('failed'));
  expect(store.view().error?.message).toBe('There is no such run.');
  expect(asked).toEqual([0]);
});

test('a resumed run drops the steps that it computes again', async () => {
  const { store } = scripted(async function* () {
    for (let seq = 1; seq <= 7; seq += 1) yield step(seq);
    yield { kind: 'checkpoint', seq: 8, at: 0, step: 5, bytes: 1 };
    yield {
      kind: 'event',
      seq: 9,
      at: 0,
      step: 5,
      level: 'info',
      code: 'resumed',
      message: 'Resumed after step 5.',
    };
    yield step(10, 6);
    yield { kind: 'live' };
  });
  await vi.waitFor(() => expect(store.view().phase).toBe('ended'));
  expect([...store.series.steps]).toEqual([1, 2, 3, 4, 5, 6]);
  expect(store.view().checkpoints.map((row) => row.step)).toEqual([5]);
  expect(store.view().lastStep).toBe(6);
});

test('a flood of rows changes the view and the series only a few times', async () => {
  const { store } = scripted(async function* () {
    for (let seq = 1; seq <= 5000; seq += 1) yield step(seq);
    yield { kind: 'live' };
  });
  const views = vi.fn();
  const series = vi.fn();
  store.subscribe(views);
  store.subscribeSeries(series);
  await vi.waitFor(() => expect(store.view().phase).toBe('ended'));
  expect(store.series.length).toBe(5000);
  expect(views.mock.calls.length).toBeLessThan(10);
  expect(series.mock.calls.length).toBeLessThan(4);
});
