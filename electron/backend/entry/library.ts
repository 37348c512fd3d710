import { join } from 'node:path';
import type { EngineModule } from '../../../native/face';
import type { HostSpawn } from '../../supervise/host-spawn';
import { DatasetRegistry } from '../datasets';
import { ModelRegistry } from '../models';
import { Roots } from '../places';
import { Algorithms } from '../algorithms';
import { openScoring, RewardScorer, RewardStore, type RewardScoring } from '../rewards';
import { appRoot } from '../system';
import { Renderer } from '../text';

export interface LibraryOptions {
  home: string;
  /** Folder of the app's own models, data sets and rewards. */
  resources: string;
  /** Folders that requests may name; null: any (the desktop, whose dialog picks). */
  roots: string[] | null;
  module: () => EngineModule;
  spawn: HostSpawn;
}

/** Models, data sets and rewards of a data folder. */
export interface Library {
  models: ModelRegistry;
  datasets: DatasetRegistry;
  rewards: RewardStore;
  scoring: RewardScoring;
  algorithms: Algorithms;
  /** The process that runs them: a reward does not wait for an algorithm. */
  algorithmHost: RewardScorer;
  roots: Roots;
  renderer: Renderer;
}

export function openLibrary({ home, resources, roots: allowed, module, spawn }: LibraryOptions): Library {
  const roots = new Roots(allowed);
  const renderer = new Renderer({ spawn });
  const algorithmHost = new RewardScorer(spawn);
  return {
    roots,
    renderer,
    models: new ModelRegistry({
      home,
      bundled: join(resources, 'models'),
      roots,
      renderer,
      // the addon is loaded when a header is read, so that a missing build stops no list
      engine: {
        checkModel: (path) => module().checkModel(path),
        readGguf: (file) => module().readGguf(file),
        readSafetensorsHeader: (file) => module().readSafetensorsHeader(file),
      },
    }),
    datasets: new DatasetRegistry({ home, bundled: join(resources, 'datasets'), roots }),
    rewards: new RewardStore(home, join(resources, 'rewards')),
    scoring: openScoring(home, resources, spawn),
    algorithms: new Algorithms(home, algorithmHost, appRoot()),
    algorithmHost,
  };
}
