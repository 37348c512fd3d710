/** The engine: finds the addon that was built for a device and loads it. Nothing else loads it. */
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { engineError, wrapEngine } from './engine';
import type { NativeEngineClass } from './engine';
import { EngineError } from './face';
import type {
  Device,
  DeviceInfo,
  Engine,
  EngineModule,
  EngineOptions,
  GgufContents,
  ModelFacts,
  RankPort,
} from './face';
import { RankGroup } from './ranks/group';
import { checkDevices } from './ranks/meeting';
import type { RankStart } from './ranks/process';
import { rankedEngine } from './ranks/ranked-engine';
import { serveRank as serve } from './ranks/serve';

export * from './face';

interface Addon {
  mlxVersion: string;
  devices(): DeviceInfo[];
  checkModel(request: { path: string }): ModelFacts;
  readGguf(request: { file: string }): GgufContents;
  readSafetensorsHeader(request: { file: string }): ReturnType<EngineModule['readSafetensorsHeader']>;
  NativeEngine: NativeEngineClass;
}

/** Builds that offer a device, the first that is there is taken: the GPU builds have the CPU too. */
const builds: Record<Device, Device[]> = { cpu: ['cpu', 'metal', 'cuda'], cuda: ['cuda'], metal: ['metal'] };

/** In a checkout build/<device>/addon, seen from the source or from dist/; packaged, beside the app. */
function places(build: Device): string[] {
  const found: string[] = [];
  const { resourcesPath } = process as { resourcesPath?: string };
  if (resourcesPath) found.push(join(resourcesPath, 'engine', build, 'atelier.node'));
  for (let dir = dirname(fileURLToPath(import.meta.url)); dir !== dirname(dir); dir = dirname(dir)) {
    if (existsSync(join(dir, 'package.json'))) {
      found.push(join(dir, 'build', build, 'addon', 'atelier.node'));
      break;
    }
  }
  return found;
}

const loaded = new Map<string, Addon>();

function load(device: Device): Addon {
  const candidates = builds[device].flatMap(places);
  const file = candidates.find((place) => existsSync(place));
  if (!file) {
    throw new EngineError(
      'device_unavailable',
      `The engine for the device '${device}' is not built (looked for ${candidates.join(', ')}).`,
      `Build it: npm run setup -- --device ${device}`,
    );
  }
  const there = loaded.get(file);
  if (there) return there;
  // Two builds bring two copies of MLX: one process drives one.
  const [other] = loaded.keys();
  if (other) {
    throw new EngineError(
      'device_unavailable',
      `This process already drives the build ${other}; '${device}' needs ${file}.`,
      'Start another process for the other device.',
    );
  }
  let addon: Addon;
  try {
    addon = createRequire(import.meta.url)(file) as Addon;
  } catch (error) {
    throw new EngineError(
      'device_unavailable',
      `The engine ${file} cannot be loaded: ${(error as Error).message}`,
      `Build it again: npm run setup -- --device ${device}`,
    );
  }
  loaded.set(file, addon);
  return addon;
}

function guarded<Result>(body: () => Result): Result {
  try {
    return body();
  } catch (error) {
    throw engineError(error);
  }
}

/**
 * The engine's module for a device. Throws EngineError `device_unavailable` where it is not built; whether
 * the machine has the device is said by `devices()` and checked by `createEngine`.
 */
export function engineModule(device: Device): EngineModule {
  const addon = load(device);
  return {
    mlxVersion: addon.mlxVersion,
    devices: () => guarded(() => addon.devices()),
    createEngine: (options: EngineOptions) =>
      guarded(() => wrapEngine(new addon.NativeEngine(options), options.device)),
    checkDevices: (device, devices) => guarded(() => void checkDevices(device, addon.devices(), devices)),
    createRanks: async (options) =>
      rankedEngine(
        options.device,
        await RankGroup.start(
          options,
          guarded(() => addon.devices()),
        ),
      ),
    checkModel: (path) => guarded(() => addon.checkModel({ path })),
    readGguf: (file) => guarded(() => addon.readGguf({ file })),
    readSafetensorsHeader: (file) => guarded(() => addon.readSafetensorsHeader({ file })),
  };
}

async function startRank({ options, backend, environment }: RankStart): Promise<Engine> {
  Object.assign(process.env, environment);
  const addon = load(options.device);
  const native = guarded(
    () => new addon.NativeEngine({ ...options, ...(backend === null ? {} : { ranks: backend }) }),
  );
  const engine = wrapEngine(native, options.device);
  if (backend !== null)
    await native.joinRanks(0, {}).catch((error: unknown) => Promise.reject(engineError(error)));
  return engine;
}

/** A process that drives one device of several for whoever is at the other end (EngineModule.createRanks). */
export const serveRank = (port: RankPort): void => serve(port, startRank);
