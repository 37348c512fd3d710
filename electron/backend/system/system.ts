import { statfs } from 'node:fs/promises';
import { freemem, homedir, totalmem } from 'node:os';
import type { z } from 'zod';
import type { AtelierContract } from '../../../shared/contract';
import type { SystemInfo, SystemStatus } from '../../../shared/contract/system';
import type { Handlers } from '../../../shared/rpc';
import { runChecks, type CheckContext } from './checks';
import type { EngineHost } from './engine-host';
import type { Log } from './log';
import { appCommit, appVersion } from './versions';

const FOLLOW_MS = 500;

export interface SystemOptions extends CheckContext {
  host: SystemInfo['host'];
  engineHost: EngineHost;
  log: Log;
  /** The run that works now, and how many wait. */
  runs: () => Pick<SystemStatus, 'activeRun' | 'queued'>;
}

/** The verbs of `system`. */
export function systemVerbs(options: SystemOptions): Handlers<AtelierContract>['system'] {
  const { engineHost, settings, log, home } = options;

  function info(): z.input<typeof SystemInfo> {
    let mlx = 'not built';
    let devices: z.input<typeof SystemInfo>['devices'] = [];
    try {
      mlx = options.module().mlxVersion;
      devices = options.module().devices();
    } catch {
      // system.checks says why and what to do
    }
    return {
      version: appVersion(),
      commit: appCommit(),
      host: options.host,
      platform: `${process.platform}-${process.arch}`,
      mlx,
      device: options.device,
      devices,
      workingOn: engineHost.devices === null ? null : [...engineHost.devices],
      folder: home,
    };
  }

  async function status(): Promise<SystemStatus> {
    const { state } = engineHost;
    const failed = state.state === 'failed' ? state.error : null;
    const stats = state.state === 'ready' ? await (await engineHost.engine()).stats() : null;
    const { bavail, bsize } = await statfs(home);
    return {
      engine: failed
        ? 'failed'
        : state.state === 'starting'
          ? 'starting'
          : (stats?.jobs ?? 0) > 0
            ? 'busy'
            : 'ready',
      ...(failed ? { engineMessage: (failed as Error).message } : {}),
      memory: {
        engineBytes: (stats?.activeBytes ?? 0) + (stats?.cacheBytes ?? 0),
        peakBytes: stats?.peakBytes ?? 0,
        limitBytes: stats?.memoryLimitBytes ?? 0,
        freeBytes: freemem(),
        totalBytes: totalmem(),
      },
      diskFreeBytes: bavail * bsize,
      ...options.runs(),
    };
  }

  async function diagnostics(): Promise<string> {
    const lines = [
      JSON.stringify(info(), null, 2),
      ...(await runChecks(options)).map((check) => `${check.state.padEnd(8)}${check.label}: ${check.detail}`),
      JSON.stringify(settings.values),
      log.tail(200),
    ];
    return lines.join('\n\n').replaceAll(homedir(), '~');
  }

  return {
    info,
    async *follow(_input, { signal }) {
      let last = '';
      while (!signal.aborted) {
        const now = await status();
        // free memory and disk flicker by a few bytes: shown in 16 MB steps
        const coarse = JSON.stringify(now, (key, value: unknown) =>
          (key === 'freeBytes' || key === 'diskFreeBytes') && typeof value === 'number'
            ? Math.floor(value / 2 ** 24)
            : value,
        );
        if (coarse !== last) yield now;
        last = coarse;
        await wait(FOLLOW_MS, signal);
      }
    },
    checks: () => runChecks(options),
    settings: () => settings.values,
    async saveSettings(values) {
      if (values.devices) options.module().checkDevices(options.device, values.devices);
      await settings.save(values);
      await engineHost.renew();
      // its failure shows in the status
      engineHost.engine().catch((error: unknown) => log.write('error', 'the engine does not start', error));
      return {};
    },
    diagnostics: async () => ({ text: await diagnostics() }),
  };
}

function wait(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal.addEventListener('abort', done, { once: true });
  });
}
