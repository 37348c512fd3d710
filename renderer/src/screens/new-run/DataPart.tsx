import { Link } from '@tanstack/react-router';
import { partNames, partsOf } from '../../components/column-parts';
import { ColumnSelect } from '../../components/ColumnSelect';
import { Field } from '../../components/Field';
import { formatCount } from '../../components/format';
import { NumberInput } from '../../components/Input';
import { Section } from '../../components/Screen';
import { Select } from '../../components/Select';
import { OWN_PART } from './draft';
import { fieldProps, type PartProps } from './problems';
import styles from './DataPart.module.css';

const none = '\u0000none';

export function DataPart({ draft, set, resolved, library, problemAt }: PartProps) {
  const { dataset, mapping } = resolved;
  return (
    <Section
      title="Data"
      actions={
        dataset !== undefined && (
          <Link
            to="/data/$id"
            params={{ id: dataset.id }}
            search={{
              tab: 'model',
              algorithm: draft.algorithm,
              ...(resolved.model === undefined ? {} : { model: resolved.model.id }),
            }}
            className="link"
          >
            As the model sees it
          </Link>
        )
      }
    >
      <Field label="Data set" help={dataset?.description} {...fieldProps(problemAt, 'data.dataset')}>
        {(ids) => (
          <Select
            {...ids}
            value={dataset?.id ?? draft.dataset}
            placeholder="Choose a data set"
            options={library.datasets.map((each) => ({
              value: each.id,
              label: each.name,
              disabled: each.state !== 'ready',
              note:
                each.state === 'ready'
                  ? `${formatCount(each.rows)} rows: ${each.columns.map((column) => column.name).join(', ')}`
                  : each.reason,
            }))}
            onChange={(next) => set({ dataset: next, mapping: null, heldOut: undefined, rewards: null })}
          />
        )}
      </Field>
      {dataset !== undefined && (
        <div className={styles.mapping} role="group" aria-label="Columns">
          {partsOf[resolved.algorithm?.data ?? 'examples'].map((part) => (
            <Field key={part} label={partNames[part]} {...fieldProps(problemAt, `data.mapping.${part}`)}>
              {(ids) => (
                <ColumnSelect
                  {...ids}
                  column={mapping[part]}
                  columns={dataset.columns}
                  onChange={(column) => {
                    const { [part]: _old, ...rest } = mapping;
                    set({ mapping: column === undefined ? rest : { ...rest, [part]: column } });
                  }}
                />
              )}
            </Field>
          ))}
        </div>
      )}
      <div className={styles.held}>
        <Field
          label="Held-out rows"
          help="Never trained on; measured before the first and after the last step, to show what was gained."
          {...fieldProps(problemAt, 'data.heldOut')}
        >
          {(ids) => (
            <Select
              {...ids}
              value={resolved.heldOut ?? none}
              options={[
                { value: none, label: 'None: nothing is measured' },
                { value: OWN_PART, label: 'A part of this data set', note: 'Never trained on' },
                ...library.datasets
                  .filter((each) => each.state === 'ready' && each.id !== dataset?.id)
                  .map((each) => ({
                    value: each.id,
                    label: each.name,
                    note: `${formatCount(each.rows)} rows`,
                  })),
              ]}
              onChange={(next) => set({ heldOut: next === none ? null : next })}
            />
          )}
        </Field>
        {resolved.heldOut === OWN_PART && (
          <>
            <Field
              label="Part held out"
              help="Below 1 a share of the rows, from 1 on their number."
              {...fieldProps(problemAt, 'data.heldOut.part')}
            >
              {(ids) => (
                <NumberInput
                  {...ids}
                  min={0.0001}
                  value={draft.heldOutPart}
                  onChange={(value) => set({ heldOutPart: value ?? 0.1 })}
                />
              )}
            </Field>
            <Field label="Seed of the part" {...fieldProps(problemAt, 'data.heldOut.seed')}>
              {(ids) => (
                <NumberInput
                  {...ids}
                  integer
                  min={0}
                  value={draft.heldOutSeed}
                  onChange={(value) => set({ heldOutSeed: value ?? 0 })}
                />
              )}
            </Field>
          </>
        )}
        {resolved.heldOut !== null && (
          <Field label="Rows measured" {...fieldProps(problemAt, 'data.heldOut.rows')}>
            {(ids) => (
              <NumberInput
                {...ids}
                integer
                min={1}
                max={4096}
                value={draft.heldOutRows}
                onChange={(value) => set({ heldOutRows: value ?? 128 })}
              />
            )}
          </Field>
        )}
      </div>
    </Section>
  );
}
