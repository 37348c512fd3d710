import { join } from 'node:path';
import type { HostSpawn } from '../../supervise/host-spawn';
import { AccessFile } from './access-file';
import { JudgeScorer } from './judge/judge-scorer';
import { PythonScorer } from './python/python-scorer';
import { RewardScorer } from './scorer';
import { RewardScoring } from './scoring';

/** Every kind of reward of a data folder. `resources`: the folder of the app's own files. */
export function openScoring(home: string, resources: string, spawn: HostSpawn): RewardScoring {
  const file = new AccessFile(home);
  const kinds = {
    typescript: new RewardScorer(spawn),
    python: new PythonScorer({ host: join(resources, 'python', 'reward_host.py'), trusted: file.allowsCode }),
    judge: new JudgeScorer({ allowed: file.allowsJudge, key: file.key }),
  };
  return new RewardScoring(kinds, file);
}
