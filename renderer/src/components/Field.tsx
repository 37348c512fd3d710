import { useId, type ReactNode } from 'react';
import { classes } from './classes';
import styles from './Field.module.css';

/** Label, control, help and problem, joined for screen readers. The control gets the ids. */
export function Field({
  label,
  help,
  problem,
  level = 'error',
  inline = false,
  mark,
  path,
  children,
}: {
  label: ReactNode;
  help?: ReactNode;
  problem?: ReactNode;
  level?: 'error' | 'warning';
  /** Label on the left, control on the right: for dense settings. */
  inline?: boolean;
  /** Beside the label: a changed-from-default dot, a unit. */
  mark?: ReactNode;
  /** Path of the field in the request, so that a problem can jump here. */
  path?: string;
  children: (ids: { id: string; 'aria-describedby'?: string; 'aria-invalid'?: true }) => ReactNode;
}) {
  const id = useId();
  const describedBy = [help !== undefined && `${id}-help`, problem !== undefined && `${id}-problem`]
    .filter(Boolean)
    .join(' ');
  return (
    <div className={classes(styles.field, inline && styles.inline)} data-path={path}>
      <label htmlFor={id} className={styles.label}>
        {label}
        {mark}
      </label>
      <div className={styles.control}>
        {children({
          id,
          ...(describedBy === '' ? {} : { 'aria-describedby': describedBy }),
          ...(problem !== undefined && level === 'error' ? { 'aria-invalid': true as const } : {}),
        })}
        {problem !== undefined && (
          <p id={`${id}-problem`} className={classes(styles.problem, level === 'warning' && styles.warning)}>
            {problem}
          </p>
        )}
      </div>
      {help !== undefined && (
        <p id={`${id}-help`} className={styles.help}>
          {help}
        </p>
      )}
    </div>
  );
}
