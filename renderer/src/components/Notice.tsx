import type { ReactNode } from 'react';
import { CircleAlert, Info, TriangleAlert } from 'lucide-react';
import { classes } from './classes';
import styles from './Notice.module.css';

const icons = { info: Info, warning: TriangleAlert, error: CircleAlert };

/** A note inside a page: info, warning or problem. */
export function Notice({
  level,
  title,
  children,
  action,
}: {
  level: 'info' | 'warning' | 'error';
  title?: ReactNode;
  children?: ReactNode;
  action?: ReactNode;
}) {
  const Icon = icons[level];
  return (
    <div className={classes(styles.notice, styles[level])}>
      <Icon aria-hidden />
      <div className={styles.noticeBody}>
        {title !== undefined && <p className={styles.noticeTitle}>{title}</p>}
        {children !== undefined && <div>{children}</div>}
      </div>
      {action}
    </div>
  );
}
