import { classes } from './classes';
import styles from './Status.module.css';

export type StatusTone = 'active' | 'waiting' | 'done' | 'stopped' | 'bad' | 'quiet' | 'warning';

const shapes: Record<StatusTone, string> = {
  active: 'M8 3a5 5 0 1 0 0 10A5 5 0 0 0 8 3Z',
  waiting: 'M8 3.75a4.25 4.25 0 1 0 0 8.5 4.25 4.25 0 0 0 0-8.5Z',
  done: 'M3.5 8.5 6.5 11.5 12.5 5',
  stopped: 'M4 4h8v8H4z',
  bad: 'M4 4l8 8M12 4l-8 8',
  warning: 'M8 3 13.5 12.5h-11Z',
  quiet: 'M4 8h8',
};

/** A sign with its own shape and the word beside it: never colour alone. */
export function Status({ tone, label, small = false }: { tone: StatusTone; label: string; small?: boolean }) {
  return (
    <span className={classes(styles.status, styles[tone], small && styles.small)}>
      <svg viewBox="0 0 16 16" aria-hidden className={styles.shape}>
        <path d={shapes[tone]} />
      </svg>
      {label}
    </span>
  );
}
