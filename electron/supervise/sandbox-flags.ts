import { dirname } from 'node:path';
import { entryFile } from './entry-file';

/**
 * Node flags for a process that runs what came from elsewhere: no files but the bundles, no child processes. Node
 * names the switch `--permission` since 22.13 and `--experimental-permission` before.
 */
function closed(): string[] {
  const stable = process.allowedNodeEnvironmentFlags.has('--permission');
  return [
    stable ? '--permission' : '--experimental-permission',
    `--allow-fs-read=${dirname(entryFile('backend/reward-host'))}/`,
    '--no-warnings',
  ];
}

/** The reward host keeps its sandbox in a worker thread. */
export const rewardHostFlags = (): string[] => [...closed(), '--allow-worker'];

/** A template that needs more memory than any chat does ends its process, and no other. */
export const templateHostFlags = (): string[] => [...closed(), '--max-old-space-size=512'];
