import { Field } from '../../components/Field';
import { Section } from '../../components/Screen';
import { Select } from '../../components/Select';
import { useAdapters } from '../../data/library';
import type { Role } from './draft';
import { fieldProps, type PartProps } from './problems';

const keyOf = ({ model, run }: Role) => JSON.stringify([model, run]);

function roleOf(key: string): Role | null {
  const [model, run] = JSON.parse(key) as [string, string | null];
  return model === '' ? null : { model, run };
}

const NONE = keyOf({ model: '', run: null });

/** The models that an algorithm needs beside the one that it trains. */
export function RolePart(props: PartProps) {
  const adapters = useAdapters();
  const { algorithm } = props.resolved;
  if (algorithm?.taught !== true && algorithm?.rewarded !== true) return null;
  const { draft, set, library, problemAt } = props;
  const seen = new Set<string>();
  const newest = (adapters.data ?? []).filter(({ run }) => !seen.has(run) && seen.add(run));
  const taught = newest.filter((each) => library.models.some(({ id }) => id === each.model));
  const optionsOf = (scalarHead: boolean) => [
    ...library.models
      .filter((model) => model.scalarHead === scalarHead)
      .map((model) => ({
        value: keyOf({ model: model.id, run: null }),
        label: model.name,
        note: scalarHead ? 'made to score texts' : 'the model as it is',
        disabled: model.state !== 'ready',
      })),
    ...taught
      .filter((each) => each.scalarHead === scalarHead)
      .map((each) => ({
        value: keyOf({ model: each.model, run: each.run }),
        label: each.runName,
        note: `${library.models.find(({ id }) => id === each.model)!.name}, as this run left it at step ${each.step}`,
        disabled: false,
      })),
  ];
  if (algorithm.taught === true) {
    return (
      <Section title="Teacher">
        <Field
          label="Teacher"
          help="The model that is learnt from. It must have the same tokenizer: a larger one of the family, or what a run has made."
          {...fieldProps(problemAt, 'teacher')}
        >
          {(ids) => (
            <Select
              {...ids}
              value={draft.teacher && keyOf(draft.teacher)}
              placeholder="Choose a teacher"
              options={optionsOf(false)}
              onChange={(key) => set({ teacher: roleOf(key) })}
            />
          )}
        </Field>
      </Section>
    );
  }
  return (
    <Section title="Reward model">
      <Field
        label="Reward model"
        help="Its score of each answer is added to the rewards. A run of the algorithm Reward model makes one from pairs; or add a folder with a sequence classifier of one label."
        {...fieldProps(problemAt, 'rewardModel')}
      >
        {(ids) => (
          <Select
            {...ids}
            value={draft.rewardModel === null ? NONE : keyOf(draft.rewardModel)}
            placeholder="None"
            options={[
              { value: NONE, label: 'None', note: 'rewards alone', disabled: false },
              ...optionsOf(true),
            ]}
            onChange={(key) => set({ rewardModel: roleOf(key) })}
          />
        )}
      </Field>
    </Section>
  );
}
