import type { Field as FieldSpec } from '../../../shared/algorithms';
import { Field } from './Field';
import { NumberInput, TextInput } from './Input';
import { Select } from './Select';
import { Switch } from './Switch';
import styles from './SettingField.module.css';

export type Setting = Pick<
  FieldSpec,
  'label' | 'help' | 'step' | 'min' | 'max' | 'unit' | 'options' | 'type'
>;

/** One setting of an algorithm or a reward, as its schema says. */
export function SettingField({
  field,
  start,
  value,
  onChange,
  ...rest
}: {
  field: Setting;
  /** What is suggested: another value is marked as changed. */
  start: unknown;
  value: unknown;
  onChange: (value: unknown) => void;
  path: string;
  problem?: string;
  level?: 'error' | 'warning';
}) {
  const changed = value !== start;
  return (
    <Field
      inline
      label={field.label}
      help={field.help}
      mark={
        changed ? (
          <span
            className={styles.changed}
            title={`Suggested: ${shown(field, start)}`}
            role="img"
            aria-label="changed"
          />
        ) : undefined
      }
      {...rest}
    >
      {(ids) => {
        if (field.type === 'boolean') {
          return (
            <span className={styles.right}>
              <Switch {...ids} checked={value === true} onChange={onChange} />
            </span>
          );
        }
        if (field.type === 'choice') {
          return <Select {...ids} value={String(value)} options={field.options ?? []} onChange={onChange} />;
        }
        if (field.type === 'text') {
          return (
            <TextInput {...ids} value={String(value)} onChange={(event) => onChange(event.target.value)} />
          );
        }
        return (
          <NumberInput
            {...ids}
            integer={field.type === 'integer'}
            value={typeof value === 'number' ? value : null}
            {...(field.step === undefined ? {} : { step: field.step })}
            {...(field.min === undefined ? {} : { min: field.min })}
            {...(field.max === undefined ? {} : { max: field.max })}
            {...(field.unit === undefined ? {} : { unit: field.unit })}
            onChange={onChange}
          />
        );
      }}
    </Field>
  );
}

function shown(field: Setting, value: unknown): string {
  return (
    field.options?.find((option) => option.value === value)?.label ?? (value === '' ? 'none' : String(value))
  );
}
