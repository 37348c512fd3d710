import { once } from 'node:events';
import { MessageChannel } from 'node:worker_threads';
import type { EngineModule } from '../../../native/face';
import { contract } from '../../../shared/contract';
import type { RunConfigInput, FollowItem } from '../../../shared/contract/runs';
import { createClient, domPort, serve } from '../../../shared/rpc';
import type { HostSpawn } from '../../supervise/host-spawn';
import { Roots } from '../places';
import { EngineHost, Log, SettingsFile } from '../system';
import { scriptedEngine, scriptedModel, scriptedText, type ScriptedEngine } from '../testing/scripted-engine';
import { exactSum, sums } from '../train/testing';
import { Runs } from './runs';
import type { Sources } from './sources';
import { runVerbs } from './verbs';

export const scriptedSources: Sources = {
  model: async (id) => ({
    id,
    name: 'Scripted',
    path: '/scripted',
    bytes: 4000,
    contextLength: 256,
    quantizedBits: null,
    scalarHead: false,
    mixture: false,
    softmaxRouters: false,
    packs: true,
    layers: 1,
    hiddenSize: 8,
    text: { ...scriptedText, pieces: async (ids) => Array.from(ids, (c) => String.fromCharCode(c)) },
    hash: 'scripted',
    templateHash: 'none',
  }),
  count: async (dataset) => (dataset === 'held' ? 8 : 13),
  rows: async (kind, dataset, { limit }) => ({
    close: () => undefined,
    rows: (kind === 'rollouts' ? (dataset === 'held' ? sums(limit ?? 8, 50) : sums(13)) : []) as never,
    left:
      dataset === 'sums-with-faults' ? [{ reason: 'missing', count: 1, line: 14, message: 'no prompt' }] : [],
  }),
  ownAlgorithm: async () => null,
  conversation: () => Promise.reject(new Error('no chat template here')),
  reward: async () => ({ language: 'typescript', code: 'export default () => 1;' }),
  scorer: async () => exactSum,
};

export interface Backend {
  runs: Runs;
  client: ReturnType<typeof createClient<typeof contract>>;
  engine: ScriptedEngine;
  close(): Promise<void>;
}

/** Runs of a data folder behind the wire, with the scripted engine. */
export async function openBackend(
  home: string,
  more: {
    engine?: ScriptedEngine;
    restarted?: boolean;
    sources?: Partial<Sources>;
    spawn?: HostSpawn;
  } = {},
): Promise<Backend> {
  const engine = more.engine ?? scriptedEngine();
  const module = { createEngine: () => engine } as unknown as EngineModule;
  const options = {
    home,
    sources: { ...scriptedSources, ...more.sources },
    engineHost: new EngineHost('cpu', () => module),
    settings: await SettingsFile.open(home),
    log: new Log(home),
    provenance: { version: 'test' },
    restarted: more.restarted ?? false,
    module: () => module,
    spawn: more.spawn ?? (() => Promise.reject(new Error('no processes here'))),
    roots: new Roots(null),
  };
  const runs = await Runs.open(options);
  const { port1, port2 } = new MessageChannel();
  serve(contract, { runs: runVerbs(runs, options) } as never, domPort(port1 as never), { checkOutput: true });
  const near = domPort(port2 as never);
  return {
    runs,
    client: createClient(contract, near),
    engine,
    async close() {
      const closed = once(port1, 'close');
      near.close();
      await closed;
      await runs.close();
    },
  };
}

export const grpoRun = (more: Partial<RunConfigInput> = {}): RunConfigInput => ({
  name: 'Sums with care',
  algorithm: 'grpo',
  model: scriptedModel.family,
  data: { dataset: 'sums', heldOut: { dataset: 'held', rows: 8 } },
  rewards: [{ id: 'exact' }],
  params: { steps: 8, learningRate: 0.3, maxNewTokens: 32 },
  checkpointEvery: 3,
  ...more,
});

/** Items until one that ends it, that one included. */
export async function until(
  items: AsyncIterable<FollowItem>,
  last: (item: FollowItem) => boolean,
): Promise<FollowItem[]> {
  const taken: FollowItem[] = [];
  for await (const item of items) {
    taken.push(item);
    if (last(item)) break;
  }
  return taken;
}

export const isStatus =
  (...wanted: string[]) =>
  (item: FollowItem): boolean =>
    item.kind === 'state' && wanted.includes(item.status);
