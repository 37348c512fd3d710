// A real reward host for tests, forked as the web host forks it.
import { fork } from 'node:child_process';
import { processPort } from '../../../shared/rpc/adapters/process-port';
import { entryFile } from '../../supervise/entry-file';
import type { HostSpawn } from '../../supervise/host-spawn';
import { rewardHostFlags } from '../../supervise/sandbox-flags';
import type { RewardRecord } from './contract';

export const spawnReward: HostSpawn = async () => {
  const child = fork(entryFile('backend/reward-host'), {
    execArgv: rewardHostFlags(),
    env: {},
    serialization: 'advanced',
  });
  return {
    pid: child.pid!,
    port: processPort(child),
    kill: (signal) => void child.kill(signal),
    onExit: (listener) => void child.on('exit', listener),
  };
};

export function record(completion: string, over: Partial<RewardRecord> = {}): RewardRecord {
  return { prompt: 'p', completion, answer: null, messages: null, row: {}, tokens: null, ...over };
}

export const records = (count: number, over: Partial<RewardRecord> = {}): RewardRecord[] =>
  Array.from({ length: count }, (_, index) => record(String(index), over));
