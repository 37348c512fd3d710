import { useRef, type KeyboardEvent } from 'react';
import { classes } from './classes';
import styles from './Segmented.module.css';

/** One of a few, all visible. Arrow keys move, as in a radio group. */
export function Segmented<V extends string>({
  label,
  value,
  options,
  onChange,
}: {
  label: string;
  value: V;
  options: readonly { value: V; label: string; title?: string }[];
  onChange: (value: V) => void;
}) {
  const root = useRef<HTMLDivElement>(null);
  const move = (by: number) => {
    const at = options.findIndex((option) => option.value === value);
    const next = (at + by + options.length) % options.length;
    onChange(options[next]!.value);
    root.current?.querySelectorAll<HTMLButtonElement>('[role=radio]')[next]?.focus();
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
