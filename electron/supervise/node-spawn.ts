import { fork, type ForkOptions } from 'node:child_process';
import { processPort } from '../../shared/rpc/adapters/process-port';
import { entryFile, type EntryName } from './entry-file';
import { lastWords } from './last-words';
import type { HostSpawn, SpawnKind } from './host-spawn';
import { rewardHostFlags, templateHostFlags } from './sandbox-flags';

const kinds: Record<SpawnKind, { entry: EntryName; options: () => ForkOptions }> = {
  verify: { entry: 'backend/verify', options: () => ({ execArgv: [] }) },
  rank: {
    entry: 'backend/rank',
    options: () => ({ execArgv: [], stdio: ['ignore', 'inherit', 'pipe', 'ipc'] }),
  },
  // Reward code and templates get no environment, no files and no processes.
  reward: { entry: 'backend/reward-host', options: () => ({ execArgv: rewardHostFlags(), env: {} }) },
  template: {
    entry: 'backend/template-host',
    // V8 writes pages to stderr when the memory ends.
    options: () => ({
      execArgv: templateHostFlags(),
      env: {},
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    }),
  },
};

/** Helper processes as Node's children. */
export const nodeSpawn: HostSpawn = (kind) =>
  new Promise((resolve, reject) => {
    const { entry, options } = kinds[kind];
    const child = fork(entryFile(entry), { serialization: 'advanced', ...options() });
    if (kind === 'template') {
      // It waits for the next template: no reason for a command to go on.
      child.unref();
      child.channel?.unref();
    }
    child.once('error', reject);
    const words = lastWords(child.stderr);
    child.once('spawn', () => {
      let ended: [number | null, string | null, string] | null = null;
      // after `exit` and the end of what it has said
      const over = (listener: (code: number | null, signal: string | null, words: string) => void) =>
        child.once('close', (code, signal) => listener(code, signal, words()));
      over((...how) => (ended = how));
      resolve({
        pid: child.pid!,
        port: processPort(child),
        kill: (signal) => void child.kill(signal),
        onExit(listener) {
          if (ended) listener(...ended);
          else over(listener);
        },
      });
    });
  });
