import { Select as Base } from '@base-ui/react/select';
import { Check, ChevronsUpDown } from 'lucide-react';
import type { ReactNode } from 'react';
import { classes } from './classes';
import styles from './Select.module.css';

export interface Option<V extends string> {
  value: V;
  label: string;
  /** A second, quieter line. */
  note?: ReactNode;
  disabled?: boolean;
}

/** One of a list. `label` names it where no visible label is tied to `id`. */
export function Select<V extends string>({
  value,
  options,
  onChange,
  placeholder = 'Choose…',
  label,
  small = false,
  ...ids
}: {
  value: V | null;
  options: readonly Option<V>[];
  onChange: (value: V) => void;
  placeholder?: string;
  label?: string;
  small?: boolean;
  id?: string;
  'aria-describedby'?: string;
  'aria-invalid'?: true;
  disabled?: boolean;
}) {
  return (
    <Base.Root
      items={options.map((option) => ({ value: option.value, label: option.label }))}
      value={value}
      onValueChange={(next) => next !== null && onChange(next as V)}
      {...(ids.disabled === true ? { disabled: true } : {})}
    >
      <Base.Trigger
        {...(ids.id === undefined ? {} : { id: ids.id })}
        aria-describedby={ids['aria-describedby']}
        aria-invalid={ids['aria-invalid']}
        aria-label={label}
        className={classes(styles.trigger, small && styles.small)}
      >
        <Base.Value className={styles.value}>
          {(current: V | null) => options.find((option) => option.value === current)?.label ?? placeholder}
        </Base.Value>
        <Base.Icon className={styles.icon}>
          <ChevronsUpDown aria-hidden />
        </Base.Icon>
      </Base.Trigger>
      <Base.Portal>
        <Base.Positioner className={styles.positioner} sideOffset={4} alignItemWithTrigger={false}>
          <Base.Popup className={styles.popup}>
            <Base.List className={styles.list} aria-label={label ?? placeholder}>
              {options.map((option) => (
                <Base.Item
                  key={option.value}
                  value={option.value}
                  disabled={option.disabled ?? false}
                  className={styles.item}
                >
                  <Base.ItemIndicator className={styles.check}>
                    <Check aria-hidden />
                  </Base.ItemIndicator>
                  <span className={styles.texts}>
                    <Base.ItemText>{option.label}</Base.ItemText>
                    {option.note !== undefined && <span className={styles.note}>{option.note}</span>}
                  </span>
                </Base.Item>
              ))}
            </Base.List>
          </Base.Popup>
        </Base.Positioner>
      </Base.Portal>
    </Base.Root>
  );
}
