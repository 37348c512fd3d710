import { join } from 'node:path';
import type { Device } from '../../../native/face';
import { engineModule } from '../../../native/index';
import { contract, type AtelierContract } from '../../../shared/contract';
import type { SystemInfo } from '../../../shared/contract/system';
import { serve, type Handlers, type Port } from '../../../shared/rpc';
import type { HostSpawn } from '../../supervise/host-spawn';
import { chatVerbs } from '../chat';
import { fromEngine, requireWriter, Runs, runVerbs } from '../runs';
import { lockFolder } from '../store';
import { appCommit, appRoot, appVersion, EngineHost, Log, SettingsFile, systemVerbs } from '../system';
import { algorithmVerbs } from './algorithm-verbs';
import { openLibrary } from './library';
import { datasetVerbs, modelVerbs } from './library-verbs';
import { rewardVerbs } from './reward-verbs';
import { librarySources, openModel } from './sources';

export interface BackendOptions {
  /** The data folder: runs, rewards, lists, settings, logs. One backend at a time. */
  home: string;
  host: SystemInfo['host'];
  device: Device;
  /** Numbers of the devices of that kind that work together; absent: as the settings say. */
  devices?: readonly number[] | undefined;
  /** Folder of the bundled models, data sets and rewards; default: that of the app. */
  resources?: string;
  /** Folder of the built page, where this host serves one. */
  pages: string | null;
  /** Folders that requests may name; null: any, on the desktop, whose dialog picks. */
  roots: string[] | null;
  spawn: HostSpawn;
  /** The backend before this one died: a run it worked on goes on by itself. */
  restarted: boolean;
  /** Name of the run at work, null when none. */
  onWorking?: (run: string | null) => void;
}

export interface Backend {
  readonly verbs: Handlers<AtelierContract>;
  /** Answers a page (or a CLI) on a port. */
  accept(port: Port): void;
  /** Ends the work at hand so that it can be resumed, and lets go of the folder. */
  close(): Promise<void>;
}

/**
 * @throws AtelierError conflict when another backend has the folder
 * @throws EngineError where devices are named that are not there
 */
export async function startBackend(options: BackendOptions): Promise<Backend> {
  const { home, device, devices, spawn, pages } = options;
  if (devices) engineModule(device).checkDevices(device, devices);
  const unlock = lockFolder(home);
  const log = new Log(home);
  const settings = await SettingsFile.open(home);
  const module = () => engineModule(device);
  const engineOptions = () => {
    const limit = settings.values.memoryLimitBytes;
    return { kernelFolder: join(home, 'kernels'), ...(limit === null ? {} : { memoryLimitBytes: limit }) };
  };
  const engineHost = new EngineHost(device, module, engineOptions, {
    chosen: () => devices ?? settings.values.devices,
    spawn,
  });
  const library = openLibrary({
    home,
    resources: options.resources ?? join(appRoot(), 'resources'),
    roots: options.roots,
    module,
    spawn,
  });
  const runOptions = {
    home,
    sources: librarySources(library),
    engineHost,
    settings,
    log,
    provenance: {
      version: appVersion(),
      commit: appCommit(),
      device,
      platform: `${process.platform}-${process.arch}`,
      node: process.versions.node,
    },
    restarted: options.restarted,
    module,
    spawn,
    roots: library.roots,
    ...(options.onWorking ? { onWorking: options.onWorking } : {}),
  };
  const runs = await Runs.open(runOptions);
  // its failure shows in the status and in every verb that needs it
  engineHost.engine().catch((error: unknown) => log.write('error', 'the engine does not start', error));

  const verbs: Handlers<AtelierContract> = {
    runs: runVerbs(runs, runOptions),
    models: modelVerbs(library, runs),
    datasets: datasetVerbs(library, runs),
    rewards: rewardVerbs(library, engineHost),
    algorithms: algorithmVerbs(library),
    chat: chatVerbs({
      engineHost,
      model: (id) => openModel(library, id),
      requireWriter: (model, adapter) => requireWriter(model, adapter && runs.about(adapter)),
      taught: (adapter) => runs.taught(adapter),
    }),
    system: systemVerbs({
      home,
      host: options.host,
      device,
      module,
      pages,
      settings,
      log,
      engineHost,
      runs: () => runs.status(),
    }),
  };
  log.write('info', `started: ${options.host}, ${device}${options.restarted ? ', after a crash' : ''}`);

  return {
    verbs,
    accept(port) {
      serve(contract, verbs, port, {
        translate: fromEngine,
        onInternal: (verb, error) => log.write('error', `${verb} failed`, error),
      });
    },
    async close() {
      await runs.close();
      await library.scoring.close();
      await library.algorithmHost.close();
      library.renderer.close();
      await engineHost.close();
      log.write('info', 'closed');
      unlock();
    },
  };
}
