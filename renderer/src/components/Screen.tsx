import type { ReactNode } from 'react';
import { classes } from './classes';
import styles from './Screen.module.css';

/** The frame of a screen: a title row that stays, and what scrolls below. */
export function Screen({
  title,
  meta,
  actions,
  tabs,
  wide = false,
  flush = false,
  children,
}: {
  title: ReactNode;
  meta?: ReactNode;
  actions?: ReactNode;
  tabs?: ReactNode;
  /** Uses the whole width instead of a readable measure. */
  wide?: boolean;
  /** Content manages its own scrolling and padding. */
  flush?: boolean;
  children: ReactNode;
}) {
  return (
    <div className={styles.screen}>
      <header className={classes(styles.header, tabs !== undefined && styles.withTabs)}>
        <div className={styles.row}>
          <div className={styles.titles}>
            <h1 className={styles.title}>{title}</h1>
            {meta !== undefined && <div className={styles.meta}>{meta}</div>}
          </div>
          {actions !== undefined && <div className={styles.actions}>{actions}</div>}
        </div>
        {tabs}
      </header>
      {flush ? (
        <div className={styles.flush}>{children}</div>
      ) : (
        <div className={styles.scroll} tabIndex={-1}>
          <div className={classes(styles.content, wide && styles.wide)}>{children}</div>
        </div>
      )}
    </div>
  );
}

/** A titled part of a screen. */
export function Section({
  title,
  hint,
  actions,
  id,
  children,
}: {
  title: ReactNode;
  hint?: ReactNode;
  actions?: ReactNode;
  id?: string;
  children: ReactNode;
}) {
  return (
    <section className={styles.section} id={id}>
      <div className={styles.sectionHead}>
        <h2>{title}</h2>
        {hint !== undefined && <p className={styles.hint}>{hint}</p>}
        {actions !== undefined && <div className={styles.sectionActions}>{actions}</div>}
      </div>
      {children}
    </section>
  );
}

/** A bordered surface. */
export function Panel({ children, className }: { children: ReactNode; className?: string }) {
  return <div className={classes(styles.panel, className)}>{children}</div>;
}
