import { hasEffect, type Needs } from '../../../shared/algorithms';
import type { Problem } from '../../../shared/contract/common';
import type { RunConfig, RunReward } from '../../../shared/contract/runs';
import type { FoundAlgorithm } from './found-algorithm';

type Choices = Pick<RunConfig, 'rewardModel' | 'teacher'> & { rewards: readonly RunReward[] };

/** What a configuration chooses for an algorithm that has no use for it. */
export function unusedChoices(
  { rewards, rewardModel, teacher }: Choices,
  { label, rewarded }: Pick<FoundAlgorithm, 'label' | 'rewarded'>,
  { roles }: Pick<Needs, 'roles'>,
): Problem[] {
  const unused: Problem[] = [];
  const tell = (path: string, message: string) =>
    unused.push({ level: 'error', path, message, hint: 'Take it out, or choose another algorithm.' });
  if (!rewarded && rewards.length > 0) tell('rewards', `${label} does not learn from rewards.`);
  if (!rewarded && rewardModel !== null) tell('rewardModel', `${label} does not learn from a reward model.`);
  if (!roles.includes('teacher') && teacher !== null)
    tell('teacher', `${label} does not learn from a teacher.`);
  return unused;
}

/** Settings that are not as they come, and do nothing under the others. */
export function unusedSettings(
  values: RunConfig['params'],
  { fields }: Pick<FoundAlgorithm, 'fields'>,
): Problem[] {
  const defaults = Object.fromEntries(fields.map(({ key, default: value }) => [key, value]));
  return fields.flatMap((field): Problem[] => {
    const { key, label, when } = field;
    const value = values[key];
    if (when === undefined || value === undefined || value === defaults[key]) return [];
    if (hasEffect(field, values, defaults)) return [];
    const other = fields.find((each) => each.key === when.key);
    const chosen = String(values[when.key] ?? defaults[when.key]);
    const named = (option: string) => other?.options?.find((each) => each.value === option)?.label ?? option;
    return [
      {
        level: 'warning',
        path: `params.${key}`,
        message: `${label} does nothing: ${other?.label ?? when.key} is "${named(chosen)}".`,
        hint:
          'above' in when
            ? `It acts where that is above ${when.above}.`
            : `It acts with ${[when.is]
                .flat()
                .map((option) => `"${named(option)}"`)
                .join(', ')}.`,
      },
    ];
  });
}
