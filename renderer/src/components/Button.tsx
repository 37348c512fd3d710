import type { ButtonHTMLAttributes, ReactNode, Ref } from 'react';
import { classes } from './classes';
import styles from './Button.module.css';

export type ButtonKind = 'primary' | 'secondary' | 'quiet' | 'danger';

export interface ButtonProps extends ButtonHTMLAttributes<HTMLButtonElement> {
  kind?: ButtonKind;
  icon?: ReactNode;
  /** Shows that the action is under way and takes no further click. */
  busy?: boolean;
}

export function buttonClass(kind: ButtonKind = 'secondary', iconOnly = false): string {
  return classes(styles.button, styles[kind], iconOnly && styles.iconOnly);
}

export function Button({ kind = 'secondary', icon, busy = false, children, disabled, ...rest }: ButtonProps) {
  return (
    <button
      type="button"
      {...rest}
      className={classes(buttonClass(kind), rest.className)}
      disabled={disabled}
      aria-disabled={busy || undefined}
      aria-busy={busy || undefined}
      onClick={busy ? undefined : rest.onClick}
    >
      {busy ? <span className={styles.spinner} aria-hidden /> : icon}
      {children}
    </button>
  );
}

/** A button that shows only an icon; `label` is its name and tooltip. */
export function IconButton({
  label,
  icon,
  kind = 'quiet',
  ...rest
}: Omit<ButtonHTMLAttributes<HTMLButtonElement>, 'aria-label'> & {
  label: string;
  icon: ReactNode;
  kind?: ButtonKind;
  ref?: Ref<HTMLButtonElement>;
}) {
  return (
    <button type="button" title={label} {...rest} aria-label={label} className={buttonClass(kind, true)}>
      {icon}
    </button>
  );
}
