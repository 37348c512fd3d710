import type { ReactNode } from 'react';
import { classes } from './classes';
import styles from './Tag.module.css';

export function Tag({
  tone = 'quiet',
  children,
}: {
  tone?: 'quiet' | 'accent' | 'warning' | 'danger';
  children: ReactNode;
}) {
  return <span className={classes(styles.tag, styles[tone])}>{children}</span>;
}
