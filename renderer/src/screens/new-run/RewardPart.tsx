import { Link } from '@tanstack/react-router';
import { Plus, X } from 'lucide-react';
import { Button, IconButton } from '../../components/Button';
import { Field } from '../../components/Field';
import { NumberInput } from '../../components/Input';
import { Section } from '../../components/Screen';
import { Select } from '../../components/Select';
import { SettingField } from '../../components/SettingField';
import { Ticked } from '../../components/Ticked';
import { rewardSetting } from '../../components/reward-setting';
import { noReward, type ChosenReward, type Resolved } from './draft';
import { fieldProps, type PartProps } from './problems';
import styles from './RewardPart.module.css';

const MOST = 16;

/** One reward or several, which are added up by their weights. */
export function RewardPart({ draft, set, resolved, library, problemAt }: PartProps) {
  if (resolved.algorithm?.rewarded !== true) return null;
  const search = {
    ...(resolved.model === undefined ? {} : { model: resolved.model.id }),
    ...(resolved.dataset === undefined ? {} : { dataset: resolved.dataset.id }),
  };
  const chosen = resolved.rewards.map(({ id, weight, params }): ChosenReward => ({ id, weight, params }));
  const change = (at: number, part: Partial<ChosenReward>) =>
    set({ rewards: chosen.map((each, k) => (k === at ? { ...each, ...part } : each)) });
  const problem = problemAt('rewards');
  return (
    <Section
      title={resolved.rewards.length > 1 ? 'Rewards' : 'Reward'}
      {...(resolved.rewards.length > 1 ? { hint: 'Their sum, each times its weight' } : {})}
      actions={
        <>
          <Link to="/rewards/$id" params={{ id: 'new' }} search={search} className="link">
            Write a new one
          </Link>
          {chosen.length < MOST && (
            <Button kind="quiet" icon={<Plus />} onClick={() => set({ rewards: [...chosen, noReward] })}>
              Add a reward
            </Button>
          )}
        </>
      }
    >
      <div data-path="rewards">
        {resolved.rewards.map((each, at) => (
          <Row
            // rows have no identity of their own: what is chosen may be chosen twice
            key={at}
            at={at}
            each={each}
            single={chosen.length === 1}
            part={{ draft, set, resolved, library, problemAt }}
            search={search}
            onChange={(part) => change(at, part)}
            onRemove={() => set({ rewards: chosen.filter((_, k) => k !== at) })}
          />
        ))}
      </div>
      {problem !== undefined && <p className={styles.problem}>{problem.message}</p>}
    </Section>
  );
}

function Row({
  at,
  each: { reward, weight, params },
  single,
  part: { resolved, library, problemAt },
  search,
  onChange,
  onRemove,
}: {
  at: number;
  each: Resolved['rewards'][number];
  single: boolean;
  part: PartProps;
  search: { model?: string; dataset?: string };
  onChange: (part: Partial<ChosenReward>) => void;
  onRemove: () => void;
}) {
  const path = `rewards.${at}`;
  return (
    <div className={styles.reward}>
      <div className={styles.row}>
        <Field
          label={single ? 'Reward' : `Reward ${at + 1}`}
          help={reward?.description && <Ticked text={reward.description} />}
          {...fieldProps(problemAt, path)}
        >
          {(ids) => (
            <Select
              {...ids}
              value={reward?.id ?? null}
              placeholder="Choose a reward"
              options={library.rewards.map((one) => ({
                value: one.id,
                label: one.name,
                note: one.id === resolved.dataset?.suggestedReward ? 'made for this data' : one.description,
              }))}
              onChange={(id) => onChange({ id, params: {} })}
            />
          )}
        </Field>
        {!single && (
          <>
            <div className={styles.weight}>
              <Field label="Weight" {...fieldProps(problemAt, `${path}.weight`)}>
                {(ids) => (
                  <NumberInput
                    {...ids}
                    step={0.1}
                    min={-1000}
                    max={1000}
                    value={weight}
                    onChange={(value) => onChange({ weight: value ?? 1 })}
                  />
                )}
              </Field>
            </div>
            <div className={styles.remove}>
              <IconButton icon={<X />} label={`Remove reward ${at + 1}`} onClick={onRemove} />
            </div>
          </>
        )}
      </div>
      {reward !== undefined && (
        <Link to="/rewards/$id" params={{ id: reward.id }} search={search} className="link">
          Edit and test
        </Link>
      )}
      {reward !== undefined && reward.params.length > 0 && (
        <div className={styles.settings}>
          {reward.params.map((param) => (
            <SettingField
              key={param.key}
              field={rewardSetting(param)}
              start={param.default}
              value={params[param.key] ?? param.default}
              {...fieldProps(problemAt, `${path}.params.${param.key}`)}
              onChange={(value) =>
                onChange({
                  params: { ...params, [param.key]: (value ?? param.default) as typeof param.default },
                })
              }
            />
          ))}
        </div>
      )}
    </div>
  );
}
