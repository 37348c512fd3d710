// How an engine of several processes ends: by one of them, by whoever asks, or not at all.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { afterEach, expect, it } from 'vitest';
import type { Spawned } from '../electron/supervise/host-spawn';
import { nodeSpawn } from '../electron/supervise/node-spawn';
import { engineModule, EngineError, type Engine, type EngineOptions } from './index';
import { cpuEngine, cpuRanks, newLora, rowsOf, sftStep, tinyModel } from './testing/tiny';

const MiB = 2 ** 20;
/** 2 MB. */
const abacus = fileURLToPath(new URL('../resources/models/abacus', import.meta.url));

const open: Engine[] = [];
afterEach(async () => {
  for (const engine of open.splice(0)) await engine.close();
});

async function ranks(count: number, more: Partial<EngineOptions> = {}) {
  const ended: EngineError[] = [];
  const { engine, processes } = await cpuRanks(count, (error) => ended.push(error), more);
  open.push(engine);
  return { engine, processes, ended };
}

/** Asks one process alone, as the engine never does. */
const only = ({ port }: Spawned, verb: string, args: unknown[]) =>
  void port.post({ type: 'call', job: 1e9, verb, args, progress: false });

const gone = (process: Spawned) =>
  new Promise<{ signal: string | null; words: string }>((resolve) =>
    process.onExit((_code, signal, words) => resolve({ signal, words })),
  );

const failure = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => 'no failure',
    (error: unknown) => error,
  );

it('a process that ends ends the others, every call and the engine, with its name', async () => {
  const { engine, processes, ended } = await ranks(3);
  const { id: model } = await engine.loadModel(tinyModel);
  const { optimizer } = await newLora(engine, model);
  const rows = rowsOf(Array.from({ length: 60 }, () => 200));
  const step = failure(engine.step(sftStep(optimizer, rows, { microTokens: 200 })));
  const waiting = failure(engine.clearCache());
  // all have begun when they have answered something else
  await engine.stats();
  processes[1]!.kill('SIGKILL');
  const error = (await step) as EngineError;
  expect(error).toMatchObject({ code: 'internal', message: expect.stringContaining('CPU process 1') });
  expect(error.message).toContain('SIGKILL');
  expect(await waiting).toBe(error);
  expect(ended).toEqual([error]);
  for (const process of processes) expect((await gone(process)).signal).toBe('SIGKILL');
  expect(await failure(engine.stats())).toBe(error);
  // nothing is left to close
  await engine.close();
});

it('says what a process said last', async () => {
  const { engine, processes, ended } = await ranks(2);
  // what no rank understands
  void processes[0]!.port.post(null);
  await gone(processes[0]!);
  expect(ended[0]!.message).toMatch(/^CPU process 0 ended \(code \d+\)\. Its last words: [^]*TypeError/);
  expect(await failure(engine.resetPeak())).toBe(ended[0]);
});

it('goes on where one process has no memory for a step', async () => {
  const { engine, processes, ended } = await ranks(2, { memoryLimitBytes: 2 * 12 * MiB, cacheLimitBytes: 0 });
  const { id: model } = await engine.loadModel(tinyModel);
  const { optimizer } = await newLora(engine, model);
  const step = (length: number) => engine.step(sftStep(optimizer, rowsOf([length, length])));
  await step(200);
  // the second's memory fills without the engine's knowing
  for (let k = 0; k < 5; k++) only(processes[1]!, 'loadModel', [abacus, {}]);
  const error = (await failure(step(200))) as EngineError;
  expect(error).toMatchObject({
    code: 'out_of_memory',
    message: expect.stringMatching(/^CPU process 1: Training on a row of 200 tokens needs/),
  });
  expect(await step(8)).toMatchObject({ updated: true });
  expect(ended).toEqual([]);
});

it('ends where one process alone could not do what all have to', async () => {
  const { engine, processes, ended } = await ranks(2);
  const { id: model } = await engine.loadModel(tinyModel);
  only(processes[1]!, 'unloadModel', [model]);
  const spec = { rank: 4, alpha: 8, targetModules: 'all-linear', seed: 1 };
  const error = await failure(engine.createAdapter(model, spec));
  expect(error).toMatchObject({ code: 'not_found', message: expect.stringContaining('no longer alike') });
  expect(ended).toEqual([error]);
  for (const process of processes) await gone(process);
});

it('is closed with all its processes', async () => {
  const { engine, processes, ended } = await ranks(2);
  const { id: model } = await engine.loadModel(tinyModel);
  const { optimizer } = await newLora(engine, model);
  const rows = rowsOf(Array.from({ length: 60 }, () => 200));
  const request = sftStep(optimizer, rows, { microTokens: 200 });
  const steps = Array.from({ length: 5 }, () => failure(engine.step(request)));
  await engine.close();
  for (const process of processes) await gone(process);
  for (const step of steps) expect(await step).toMatchObject({ code: 'cancelled' });
  expect(ended).toEqual([]);
  expect(await failure(engine.stats())).toMatchObject({ code: 'not_found', message: 'the engine is closed' });
});

it('leaves no process behind when its own is killed', async () => {
  const script = fileURLToPath(new URL('testing/leave-ranks.ts', import.meta.url));
  const child = fork(script, { execArgv: ['--import', 'tsx'], stdio: ['ignore', 'pipe', 'ignore', 'ipc'] });
  // the ranks have its stdout too: it is closed when the last of them is gone
  const closed = once(child, 'close');
  await once(child, 'message');
  child.stdout!.resume();
  child.kill('SIGKILL');
  expect(await closed).toEqual([null, 'SIGKILL']);
});

it.each([
  [[], 'invalid_argument', 'none is named'],
  [[0, 1, 0], 'invalid_argument', '0 is named twice'],
  [[0, 99], 'device_unavailable', 'There is no CPU process 99. Here: 0 to 7'],
  [[-1], 'device_unavailable', 'There is no CPU process -1'],
  [[0.5], 'device_unavailable', 'There is no CPU process 0.5'],
] as const)('refuses devices that make no sense: %j', async (devices, code, message) => {
  const spawn = () => Promise.reject(new Error('nothing may be started'));
  const start = engineModule('cpu').createRanks({ device: 'cpu', devices, spawn, onEnd: () => undefined });
  expect(await failure(start)).toMatchObject({ code, message: expect.stringContaining(message) });
});

it('does not start where one process does not, and leaves none', async () => {
  const processes: Spawned[] = [];
  const ended: EngineError[] = [];
  const start = engineModule('cpu').createRanks({
    device: 'cpu',
    devices: [0, 1],
    spawn: async () => {
      const process = await nodeSpawn('rank');
      processes.push(process);
      if (processes.length === 2) process.kill('SIGKILL');
      return process;
    },
    onEnd: (error) => ended.push(error),
  });
  expect(await failure(start)).toMatchObject({
    message: expect.stringContaining('CPU process 1 ended (SIGKILL)'),
  });
  for (const process of processes) await gone(process);
});

it('is one process too, on the one device that was chosen', async () => {
  const { engine, processes } = await ranks(1);
  const { id: model } = await engine.loadModel(tinyModel);
  const one = cpuEngine();
  open.push(one);
  const { id: other } = await one.loadModel(tinyModel);
  const results = [];
  for (const [of, id] of [
    [engine, model],
    [one, other],
  ] as const) {
    const { optimizer } = await newLora(of, id);
    const {
      seconds: _s,
      peakBytes: _p,
      gradientPeakBytes: _g,
      ...rest
    } = await of.step(sftStep(optimizer, rowsOf([9, 4])));
    results.push(rest);
  }
  expect(processes).toHaveLength(1);
  expect(results[0]).toEqual(results[1]);
});
