import { useRef, type KeyboardEvent } from 'react';
import { classes } from './classes';
import styles from './Segmented.module.css';

/** One of a few, all visible. Arrow keys move between those that can be chosen, as in a radio group. */
export function Segmented<V extends string>({
  label,
  value,
  options,
  onChange,
}: {
  label: string;
  value: V;
  options: readonly { value: V; label: string; title?: string; disabled?: boolean }[];
  onChange: (value: V) => void;
}) {
  const root = useRef<HTMLDivElement>(null);
  const move = (by: number) => {
    const open = options.filter((option) => option.disabled !== true);
    const at = open.findIndex((option) => option.value === value);
    const next = open[(at + by + open.length) % open.length]!;
    onChange(next.value);
    root.current?.querySelectorAll<HTMLButtonElement>('[role=radio]')[options.indexOf(next)]?.focus();
  };
  const keys = (event: KeyboardEvent) => {
    if (event.key === 'ArrowRight' || event.key === 'ArrowDown') move(1);
    else if (event.key === 'ArrowLeft' || event.key === 'ArrowUp') move(-1);
    else return;
    event.preventDefault();
  };
  return (
    <div ref={root} role="radiogroup" aria-label={label} className={styles.group}>
      {options.map((option) => (
        <button
          key={option.value}
          type="button"
          role="radio"
          aria-checked={option.value === value}
          tabIndex={option.value === value ? 0 : -1}
          title={option.title}
          disabled={option.disabled}
          className={classes(styles.option, option.value === value && styles.on)}
          onClick={() => onChange(option.value)}
          onKeyDown={keys}
        >
          {option.label}
        </button>
      ))}
    </div>
  );
}
