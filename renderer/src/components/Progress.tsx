import { classes } from './classes';
import styles from './Progress.module.css';

/** A bar from 0 to 1; without a value it says only that something goes on. */
export function Progress({
  value,
  label,
  thin = false,
}: {
  value: number | null;
  label: string;
  thin?: boolean;
}) {
  const share = value === null ? null : Math.min(1, Math.max(0, value));
  return (
    <div
      role="progressbar"
      aria-label={label}
      aria-valuemin={0}
      aria-valuemax={100}
      aria-valuenow={share === null ? undefined : Math.round(share * 100)}
      className={classes(styles.track, thin && styles.thin)}
    >
      <span
        className={classes(styles.fill, share === null && styles.moving)}
        style={{ width: share === null ? '30%' : `${share * 100}%` }}
      />
    </div>
  );
}
