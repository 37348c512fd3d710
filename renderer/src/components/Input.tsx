import {
  useEffect,
  useRef,
  useState,
  type ComponentProps,
  type InputHTMLAttributes,
  type TextareaHTMLAttributes,
} from 'react';
import { classes } from './classes';
import styles from './Input.module.css';

export function TextInput(props: ComponentProps<'input'>) {
  return (
    <input
      type="text"
      spellCheck={false}
      autoComplete="off"
      {...props}
      className={classes(styles.input, props.className)}
    />
  );
}

export function TextArea(props: TextareaHTMLAttributes<HTMLTextAreaElement>) {
  return (
    <textarea spellCheck={false} {...props} className={classes(styles.input, styles.area, props.className)} />
  );
}

const shown = (value: number | null) => (value === null ? '' : String(value));

/** A number typed as text, so that 1e-5 and half-typed values are allowed; reports only what parses. */
export function NumberInput({
  value,
  onChange,
  integer = false,
  step,
  min,
  max,
  unit,
  nullable = false,
  ...rest
}: Omit<InputHTMLAttributes<HTMLInputElement>, 'value' | 'onChange' | 'step' | 'min' | 'max'> & {
  value: number | null;
  onChange: (value: number | null) => void;
  integer?: boolean;
  step?: number;
  min?: number;
  max?: number;
  unit?: string;
  nullable?: boolean;
}) {
  const [text, setText] = useState(shown(value));
  const reported = useRef(value);
  useEffect(() => {
    if (!Object.is(reported.current, value)) {
      reported.current = value;
      setText(shown(value));
    }
  }, [value]);
  const report = (next: number | null) => {
    reported.current = next;
    onChange(next);
  };
  const read = (typed: string) => {
    setText(typed);
    const trimmed = typed.trim();
    if (trimmed === '') {
      if (nullable) report(null);
      return;
    }
    const parsed = Number(trimmed);
    if (Number.isFinite(parsed) && (!integer || Number.isInteger(parsed))) report(parsed);
  };
  const nudge = (direction: 1 | -1, factor: number) => {
    const by = (step ?? (integer ? 1 : Math.abs(value ?? 1) / 10 || 0.1)) * factor * direction;
    const next = Number(((value ?? 0) + by).toPrecision(12));
    const clamped = Math.min(max ?? Infinity, Math.max(min ?? -Infinity, next));
    setText(String(clamped));
    report(clamped);
  };
  return (
    <span className={styles.number}>
      <input
        {...rest}
        type="text"
        inputMode={integer ? 'numeric' : 'decimal'}
        autoComplete="off"
        className={classes(styles.input, styles.numeric)}
        // room for the unit, which is in a slightly smaller type
        {...(unit === undefined ? {} : { style: { paddingRight: `calc(${unit.length}ch + 14px)` } })}
        value={text}
        onChange={(event) => read(event.target.value)}
        onBlur={() => setText(shown(value))}
        onKeyDown={(event) => {
          if (event.key !== 'ArrowUp' && event.key !== 'ArrowDown') return;
          event.preventDefault();
          nudge(event.key === 'ArrowUp' ? 1 : -1, event.shiftKey ? 10 : 1);
        }}
      />
      {unit !== undefined && (
        <span className={styles.unit} aria-hidden>
          {unit}
        </span>
      )}
    </span>
  );
}
