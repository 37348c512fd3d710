import { useState } from 'react';
import { hasEffect, type Field as FieldSpec } from '../../../../shared/algorithms';
import { Button } from '../../components/Button';
import { Field } from '../../components/Field';
import { NumberInput } from '../../components/Input';
import { Section } from '../../components/Screen';
import { Segmented } from '../../components/Segmented';
import { suggested } from './draft';
import { SettingField } from '../../components/SettingField';
import { fieldProps, type PartProps } from './problems';
import styles from './SettingsPart.module.css';

/** The algorithm's own settings, all from its schema. */
export function SettingsPart({ draft, set, resolved, problemAt }: PartProps) {
  const [level, setLevel] = useState<'simple' | 'advanced'>('simple');
  const { algorithm } = resolved;
  if (algorithm === undefined) return null;
  const all = algorithm.fields;
  const start = suggested(algorithm, resolved.model);
  const values = draft.params[draft.algorithm] ?? {};
  const changed = all.filter((field) => field.key in values && values[field.key] !== start[field.key]);
  // a problem with a hidden setting shows it
  const shown = all.filter(
    (field) =>
      (hasEffect(field, values, start) && (level === 'advanced' || field.level === 'simple')) ||
      problemAt(`params.${field.key}`) !== undefined,
  );
  const sections = [...new Set(shown.map((field) => field.section))];
  const put = (field: FieldSpec, value: unknown) =>
    set({ params: { ...draft.params, [draft.algorithm]: { ...values, [field.key]: value } } });
  return (
    <Section
      title="Settings"
      hint={changed.length === 0 ? 'All as suggested' : `${changed.length} changed`}
      actions={
        <>
          {changed.length > 0 && (
            <Button kind="quiet" onClick={() => set({ params: { ...draft.params, [draft.algorithm]: {} } })}>
              Back to defaults
            </Button>
          )}
          <Segmented
            label="Which settings"
            value={level}
            onChange={setLevel}
            options={[
              { value: 'simple', label: 'Simple' },
              { value: 'advanced', label: 'Advanced' },
            ]}
          />
        </>
      }
    >
      {sections.map((section) => (
        <div key={section} className={styles.section}>
          <h3 className={styles.heading}>{section}</h3>
          {shown
            .filter((field) => field.section === section)
            .map((field) => (
              <SettingField
                key={field.key}
                field={field}
                start={start[field.key]}
                value={values[field.key] ?? start[field.key]}
                {...fieldProps(problemAt, `params.${field.key}`)}
                onChange={(value) => put(field, value)}
              />
            ))}
        </div>
      ))}
      {level === 'advanced' && (
        <div className={styles.section}>
          <h3 className={styles.heading}>Run</h3>
          <Field
            inline
            label="Seed"
            help="The same seed, data and settings give the same run."
            {...fieldProps(problemAt, 'seed')}
          >
            {(ids) => (
              <NumberInput
                {...ids}
                integer
                min={0}
                value={draft.seed}
                onChange={(value) => set({ seed: value ?? 0 })}
              />
            )}
          </Field>
          <Field
            inline
            label="Checkpoint every"
            help="A run that breaks off goes on from its last checkpoint."
            {...fieldProps(problemAt, 'checkpointEvery')}
          >
            {(ids) => (
              <NumberInput
                {...ids}
                integer
                min={1}
                unit="steps"
                value={draft.checkpointEvery}
                onChange={(value) => set({ checkpointEvery: value ?? 20 })}
              />
            )}
          </Field>
          <Field
            inline
            label="Tokens at once"
            help="How many tokens go through the model together. Changes memory and time, not what is learnt. Empty: chosen when the run starts; Fit to memory chooses by measure."
            {...fieldProps(problemAt, 'microTokens')}
          >
            {(ids) => (
              <NumberInput
                {...ids}
                integer
                nullable
                min={16}
                max={262_144}
                unit="tokens"
                value={draft.microTokens}
                onChange={(microTokens) => set({ microTokens })}
              />
            )}
          </Field>
        </div>
      )}
    </Section>
  );
}
