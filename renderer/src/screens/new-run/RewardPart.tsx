import { Link } from '@tanstack/react-router';
import { algorithmByKey } from '../../../../shared/algorithms';
import { Field } from '../../components/Field';
import { Section } from '../../components/Screen';
import { Select } from '../../components/Select';
import { fieldProps, type PartProps } from './problems';

export function RewardPart({ draft, set, resolved, library, problemAt }: PartProps) {
  if (algorithmByKey(draft.algorithm)?.advantages === undefined) return null;
  const search = {
    ...(resolved.model === undefined ? {} : { model: resolved.model.id }),
    ...(resolved.dataset === undefined ? {} : { dataset: resolved.dataset.id }),
  };
  return (
    <Section
      title="Reward"
      actions={
        <>
          {resolved.reward !== undefined && (
            <Link to="/rewards/$id" params={{ id: resolved.reward.id }} search={search} className="link">
              Edit and test
            </Link>
          )}
          <Link to="/rewards/$id" params={{ id: 'new' }} search={search} className="link">
            Write a new one
          </Link>
        </>
      }
    >
      <Field label="Reward" help={resolved.reward?.description} {...fieldProps(problemAt, 'reward')}>
        {(ids) => (
          <Select
            {...ids}
            value={resolved.reward?.id ?? null}
            placeholder="Choose a reward"
            options={library.rewards.map((reward) => ({
              value: reward.id,
              label: reward.name,
              note:
                reward.id === resolved.dataset?.suggestedReward ? 'made for this data' : reward.description,
            }))}
            onChange={(reward) => set({ reward })}
          />
        )}
      </Field>
    </Section>
  );
}
