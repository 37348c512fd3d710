import { useEffect, useState } from 'react';
import { algorithmByKey, dataKindOf } from '../../../../shared/algorithms';
import { Mapping as MappingSchema } from '../../../../shared/contract/datasets';
import { fitsOf, missingRole, suggestMapping, type Role } from '../../../../shared/contract/mapping';
import { Button } from '../../components/Button';
import { partNames } from '../../components/column-parts';
import { ColumnSelect } from '../../components/ColumnSelect';
import { Field } from '../../components/Field';
import { Section } from '../../components/Screen';
import { Select } from '../../components/Select';
import { ErrorState } from '../../components/States';
import { builtIn } from '../../data/algorithms';
import { useStored } from '../../data/draft';
import { asFailure } from '../../data/failure';
import { useModels, useSetMapping, type Dataset, type Mapping } from '../../data/library';
import { KINDS, TYPES, editedType, sameMapping, withPart, type EditedType } from './mapping-draft';
import { TrainedRows } from './TrainedRows';
import styles from './ColumnsTab.module.css';

interface Draft {
  type: EditedType;
  mapping: Mapping;
}

/** Which column plays which part, with the first rows as they would be trained and what would be left out. */
export function ColumnsTab({
  dataset,
  model,
  algorithm,
  onChange,
}: {
  dataset: Dataset;
  model: string | undefined;
  algorithm: string | undefined;
  onChange: (change: { model?: string; algorithm?: string }) => void;
}) {
  const kept: Draft = { type: editedType(dataset.type), mapping: dataset.mapping };
  // what was not saved survives a reload, as code does
  const [stored, keep, forget] = useStored<Draft | null>(
    `atelier.mapping.${dataset.id}`,
    () => null,
    (value) => readDraft(value, dataset),
  );
  const { type, mapping } = stored ?? kept;
  const save = useSetMapping(dataset.id);
  const changed = !sameMapping(mapping, dataset.mapping);
  const guess = suggestMapping(dataset.columns);
  const edit = (draft: Draft) => {
    save.reset();
    keep(draft);
  };
  const discard = () => {
    save.reset();
    keep(null as never);
    forget();
  };
  const store = (next: Mapping | null) => save.mutate(next, { onSuccess: discard });
  const guessed = dataset.mappedBy === 'guess';
  const missing = missingRole(mapping, KINDS[type].use);
  const fits = fitsOf(mapping);
  const able = builtIn.filter(({ data }) => fits.includes(data));
  return (
    <div className={styles.columns}>
      <div>
        <Section
          title="Columns"
          hint={
            changed
              ? 'Changed, not saved'
              : guessed
                ? 'As their names and values suggest'
                : 'As chosen for this data set'
          }
          actions={
            <>
              {changed && (
                <Button kind="quiet" onClick={discard}>
                  Discard changes
                </Button>
              )}
              {!changed && !guessed && (
                <Button kind="quiet" busy={save.isPending} onClick={() => store(null)}>
                  Back to the suggestion
                </Button>
              )}
              <Button
                kind="primary"
                busy={save.isPending}
                disabled={!changed || missing !== null}
                onClick={() => store(sameMapping(mapping, guess.mapping) ? null : mapping)}
              >
                Save
              </Button>
            </>
          }
        >
          <Field label="Kind of data" help={KINDS[type].note}>
            {(ids) => (
              <Select
                {...ids}
                value={type}
                options={TYPES.map((value) => ({
                  value,
                  label: KINDS[value].label,
                  note:
                    value === editedType(guess.type) && guess.type !== 'unknown'
                      ? `${KINDS[value].note}. Suggested`
                      : KINDS[value].note,
                }))}
                onChange={(next) =>
                  edit({ type: next, mapping: suggestMapping(dataset.columns, next).mapping })
                }
              />
            )}
          </Field>
          <div className={styles.parts} role="group" aria-label="Columns">
            {KINDS[type].parts.map((part) => (
              <Field
                key={part}
                label={labelOf(part, type)}
                {...(part === missing ? { problem: 'Choose the column that plays this part.' } : {})}
              >
                {(ids) => (
                  <ColumnSelect
                    {...ids}
                    column={mapping[part]}
                    columns={dataset.columns}
                    onChange={(column) => edit({ type, mapping: withPart(mapping, part, column) })}
                  />
                )}
              </Field>
            ))}
          </div>
          {save.isError && <ErrorState compact what="It was not saved." error={asFailure(save.error)} />}
          <p className={styles.serves}>
            {able.length === 0
              ? 'With these columns no algorithm can be trained.'
              : `Can be trained with ${able.map(({ label }) => label).join(', ')}.`}
          </p>
        </Section>
      </div>
      <Trial
        dataset={dataset}
        mapping={mapping}
        type={type}
        model={model}
        algorithm={algorithm}
        onChange={onChange}
      />
    </div>
  );
}

const labelOf = (part: Role, type: EditedType) =>
  type === 'text' && part === 'completion' ? 'Text' : partNames[part];

/** A stored draft, unless its columns are not those of the data set any more. */
function readDraft(value: unknown, { columns }: Dataset): Draft | null {
  const { type, mapping } = (value ?? {}) as Partial<Draft>;
  const parsed = MappingSchema.safeParse(mapping);
  if (type === undefined || !TYPES.includes(type) || !parsed.success) return null;
  const there = Object.values(parsed.data).every((name) => columns.some((column) => column.name === name));
  return there ? { type, mapping: parsed.data } : null;
}

/** What the mapping makes of the first rows, under a model and an algorithm that it serves. */
function Trial({
  dataset,
  mapping,
  type,
  model,
  algorithm,
  onChange,
}: {
  dataset: Dataset;
  mapping: Mapping;
  type: EditedType;
  model: string | undefined;
  algorithm: string | undefined;
  onChange: (change: { model?: string; algorithm?: string }) => void;
}) {
  const models = useModels();
  const usable = models.data?.filter((each) => each.state === 'ready') ?? [];
  const chosenModel = usable.find((each) => each.id === model) ?? usable[0];
  const fits = fitsOf(mapping);
  const able = builtIn.filter(({ data }) => fits.includes(data));
  const first = able.find(({ data }) => data === KINDS[type].use) ?? able[0];
  const key = able.some((each) => each.key === algorithm) ? algorithm : first?.key;
  const settled = useSettled(mapping);
  return (
    <Section
      title="As it would be trained"
      actions={
        <div className={styles.choices}>
          <Select
            small
            label="Model"
            value={chosenModel?.id ?? null}
            placeholder="Model"
            options={usable.map((each) => ({ value: each.id, label: each.name }))}
            onChange={(next) => onChange({ model: next })}
          />
          <Select
            small
            label="Algorithm"
            value={key ?? null}
            placeholder="Algorithm"
            options={able.map((each) => ({ value: each.key, label: each.label }))}
            onChange={(next) => onChange({ algorithm: next })}
          />
        </div>
      }
    >
      {key === undefined ? (
        <p className={styles.none}>
          Choose the columns on the left; the rows show here as the model gets them.
        </p>
      ) : models.data !== undefined && chosenModel === undefined ? (
        <p className={styles.none}>
          A model is needed: its template and tokenizer decide what a row becomes.
        </p>
      ) : chosenModel === undefined ||
        missingRole(settled, dataKindOf(algorithmByKey(key)!)) !== null ? null : (
        <TrainedRows dataset={dataset} mapping={settled} model={chosenModel} algorithm={key} />
      )}
    </Section>
  );
}

/** The mapping once it has not changed for a moment: each change reads the rows anew. */
function useSettled(mapping: Mapping): Mapping {
  const [settled, setSettled] = useState(mapping);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(mapping), 250);
    return () => clearTimeout(timer);
  }, [mapping]);
  return settled;
}
