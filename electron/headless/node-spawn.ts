import { fork } from 'node:child_process';
import { processPort } from '../../shared/rpc/adapters/process-port';
import { entryFile } from '../supervise/entry-file';
import type { HostSpawn, SpawnKind } from '../supervise/host-spawn';
import { rewardHostFlags } from '../supervise/reward-host-flags';

const entries = { reward: 'backend/reward-host', verify: 'backend/verify' } as const;

/** Helper processes as Node's children. Reward code gets no environment, no files and no processes. */
export const nodeSpawn: HostSpawn = (kind: SpawnKind) =>
  new Promise((resolve, reject) => {
    const child = fork(entryFile(entries[kind]), {
      serialization: 'advanced',
      execArgv: kind === 'reward' ? rewardHostFlags() : [],
      ...(kind === 'reward' ? { env: {} } : {}),
    });
    child.once('error', reject);
    child.once('spawn', () => {
      let ended: [number | null, string | null] | null = null;
      child.once('exit', (code, signal) => (ended = [code, signal]));
      resolve({
        pid: child.pid!,
        port: processPort(child),
        kill: (signal) => void child.kill(signal),
        onExit(listener) {
          if (ended) listener(...ended);
          else child.once('exit', listener);
        },
      });
    });
  });
