import type { FrozenReward, RunReward } from '../../../shared/contract/runs';
import { AtelierError } from '../../../shared/rpc';
import type { WeightedScorer } from '../train';
import type { FoundAlgorithm } from './found-algorithm';
import type { Sources } from './sources';

/** Runs `work`; what it throws becomes a problem at `path`, and null. */
type Attempt = <T>(path: string, work: () => Promise<T>) => Promise<T | null>;

/** The rewards of a configuration as they are now; those that cannot be used are problems of their own places. */
export async function checkRewards(
  { rewards, rewardModel }: { rewards: readonly RunReward[]; rewardModel: unknown },
  algorithm: Pick<FoundAlgorithm, 'label' | 'metrics'>,
  sources: Sources,
  attempt: Attempt,
): Promise<FrozenReward[]> {
  if (rewards.length === 0 && rewardModel === null) {
    await attempt('rewards', () => {
      throw new AtelierError(
        'invalid_input',
        `${algorithm.label} needs a reward.`,
        'Choose one, or write it.',
      );
    });
  }
  const taken = new Set([...algorithm.metrics.map(({ key }) => key), 'reward/model']);
  const usable: FrozenReward[] = [];
  for (const [k, reward] of rewards.entries()) {
    const path = `rewards.${k}`;
    const frozen = await attempt(path, async () => {
      const found = 'id' in reward ? await sources.reward(reward.id) : reward;
      const { weight, params } = reward;
      const { language, code } = found;
      return {
        language,
        code,
        weight,
        params,
        name: freeName('id' in reward ? reward.id : reward.name, taken),
      };
    });
    if (!frozen) continue;
    usable.push(frozen);
    await attempt(path, () => sources.scorer(frozen));
  }
  if (usable.length > 0 && rewardModel === null && usable.every(({ weight }) => weight === 0)) {
    await attempt('rewards', () => {
      throw new AtelierError('invalid_input', 'Every reward has the weight 0: nothing can be learnt.');
    });
  }
  return usable;
}

/** `name`, or with a number, so that `reward/<name>` is no other metric. */
function freeName(name = 'reward', taken: Set<string>): string {
  for (let k = 1; ; k++) {
    const free = k === 1 ? name : `${name.slice(0, 60)}-${k}`;
    if (taken.has(`reward/${free}`)) continue;
    taken.add(`reward/${free}`);
    return free;
  }
}

export function scorersOf(rewards: readonly FrozenReward[], sources: Sources): Promise<WeightedScorer[]> {
  return Promise.all(
    rewards.map(async (reward) => {
      const { name, weight } = reward;
      return { name, weight, scorer: await sources.scorer(reward) };
    }),
  );
}
