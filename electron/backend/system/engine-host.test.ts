import { expect, it } from 'vitest';
import { EngineError, type EngineModule, type RankOptions } from '../../../native/face';
import { scriptedEngine } from '../testing/scripted-engine';
import { EngineHost } from './engine-host';

const LIMIT = 2 ** 30;

/** A host whose engine holds `activeBytes`; `events` tells what it loaded and gave away. */
function hostWith(activeBytes: number) {
  const events: string[] = [];
  const engine = scriptedEngine();
  const { loadModel, stats } = engine;
  Object.assign(engine, {
    loadModel: (path: string) => (events.push(`load ${path}`), loadModel(path)),
    unloadModel: () => Promise.resolve(void events.push('unload')),
    stats: async () => ({ ...(await stats()), activeBytes, memoryLimitBytes: LIMIT }),
  });
  const module = () => ({ createEngine: () => engine }) as unknown as EngineModule;
  return { events, host: new EngineHost('cpu', module) };
}

it('loads a second model beside one that nobody uses any more', async () => {
  const { host, events } = hostWith(0);
  (await host.acquire('one', 4000)).release();
  const second = await host.acquire('two', 4000);
  expect(second.model).toBeDefined();
  await host.acquire('one', 4000);
  expect(events).toEqual(['load one', 'load two']);
});

it('gives a model away for room only while nobody uses it', async () => {
  const { host, events } = hostWith(LIMIT);
  (await host.acquire('one', 4000)).release();
  const [two] = await Promise.all([host.acquire('two', 4000), host.acquire('one', 4000)]);
  expect(events).toEqual(['load one', 'load two']);
  two.release();
  await host.acquire('three', 4000);
  expect(events).toEqual(['load one', 'load two', 'unload', 'load three']);
});

/** A host whose engines stand in for those of several devices; `end` ends the last of them as a device would. */
function hostOf(chosen: { devices: number[] | null }) {
  const made: string[] = [];
  let ranks: RankOptions | null = null;
  let jobs = 0;
  const engineOf = (name: string) => {
    made.push(name);
    const engine = scriptedEngine();
    const { stats, close } = engine;
    return Object.assign(engine, {
      stats: async () => ({ ...(await stats()), jobs }),
      close: () => (made.push(`close ${name}`), close()),
    });
  };
  const module = () =>
    ({
      createEngine: () => engineOf('one'),
      createRanks: async (options: RankOptions) => {
        ranks = options;
        return engineOf(options.devices.join('+'));
      },
    }) as unknown as EngineModule;
  const spawn = () => Promise.reject(new Error('nothing is started here'));
  const host = new EngineHost('cpu', module, () => ({}), { chosen: () => chosen.devices, spawn });
  return {
    host,
    made,
    end: (message: string) => ranks!.onEnd(new EngineError('internal', message), Promise.resolve()),
    busy: (count: number) => (jobs = count),
  };
}

it('makes another engine where a device ended the last, with nothing of what that one held', async () => {
  const { host, made, end } = hostOf({ devices: [0, 1] });
  const lease = await host.acquire('one', 4000);
  expect(host.devices).toEqual([0, 1]);
  end('GPU 1 ended');
  expect(host.state).toMatchObject({ state: 'failed', error: { message: 'GPU 1 ended' } });
  lease.release();
  const again = await host.acquire('one', 4000);
  expect(host.state).toEqual({ state: 'ready' });
  expect(made).toEqual(['0+1', '0+1']);
  again.release();
});

it('takes other devices as soon as nobody holds a model and nothing is under way', async () => {
  const chosen = { devices: null as number[] | null };
  const { host, made, busy } = hostOf(chosen);
  const lease = await host.acquire('one', 4000);
  chosen.devices = [1, 2];
  await host.renew();
  expect(made).toEqual(['one']);
  lease.release();
  busy(1);
  await host.renew();
  expect(made).toEqual(['one']);
  busy(0);
  // who needs the engine next has it made anew, however many they are
  const [first, second] = await Promise.all([host.acquire('one', 4000), host.acquire('two', 4000)]);
  expect(made).toEqual(['one', 'close one', '1+2']);
  first.release();
  second.release();
  await host.renew();
  expect(made).toHaveLength(3);
});
