import type { ReactNode } from 'react';
import { classes } from './classes';
import styles from './Facts.module.css';

/** Names and values, in columns or as a list. */
export function Facts({
  items,
  list = false,
  figures = false,
}: {
  items: readonly (readonly [string, ReactNode])[];
  list?: boolean;
  /** Values are numbers: at the right edge. */
  figures?: boolean;
}) {
  return (
    <dl className={classes(styles.facts, list && styles.list, figures && styles.figures)}>
      {items.map(([name, value]) => (
        <div key={name} className={styles.fact}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
