import { expect, it } from 'vitest';
import type { EngineModule } from '../../../native/face';
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
  return { events, host: new EngineHost('cpu', module, () => null) };
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
