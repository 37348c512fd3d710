import { dirname } from 'node:path';
import { entryFile } from './entry-file';

/**
 * Node flags for the reward host: no files but the bundles, no child processes. Node names the switch
 * `--permission` since 22.13 and `--experimental-permission` before.
 */
export function rewardHostFlags(): string[] {
  const stable = process.allowedNodeEnvironmentFlags.has('--permission');
  return [
    stable ? '--permission' : '--experimental-permission',
    '--allow-worker',
    `--allow-fs-read=${dirname(entryFile('backend/reward-host'))}/`,
    '--no-warnings',
  ];
}
