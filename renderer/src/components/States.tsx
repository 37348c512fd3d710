import { useEffect, useState, type ReactNode } from 'react';
import { CircleAlert, Copy, Check } from 'lucide-react';
import { Button } from './Button';
import { classes } from './classes';
import styles from './States.module.css';

/** What any screen shows of a failure. `Error`s and the contract's errors both fit. */
export interface Failure {
  message: string;
  code?: string;
  hint?: string;
  details?: unknown;
  stack?: string;
}

/** Shows its children only after 150 ms, so that quick answers do not flash. */
export function Delayed({ children, delay = 150 }: { children: ReactNode; delay?: number }) {
  const [shown, setShown] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setShown(true), delay);
    return () => clearTimeout(timer);
  }, [delay]);
  return shown ? children : null;
}

export function Skeleton({
  width = '100%',
  height = 12,
}: {
  width?: number | string;
  height?: number | string;
}) {
  return <span className={styles.skeleton} style={{ width, height }} aria-hidden />;
}

/** Rows of the final layout's height while a list loads. */
export function SkeletonRows({
  rows = 6,
  height = 40,
  label = 'Loading',
}: {
  rows?: number;
  height?: number;
  label?: string;
}) {
  return (
    <Delayed>
      <div role="status" aria-label={label} className={styles.rows}>
        {Array.from({ length: rows }, (_, index) => (
          <div key={index} className={styles.skeletonRow} style={{ height }}>
            <Skeleton width={`${46 - ((index * 13) % 24)}%`} />
            <Skeleton width="12%" />
            <Skeleton width="8%" />
          </div>
        ))}
      </div>
    </Delayed>
  );
}

/** Teaches what will be here, with one action and a faint picture of it. */
export function EmptyState({
  picture,
  title,
  children,
  action,
  compact = false,
}: {
  picture?: ReactNode;
  title: string;
  children?: ReactNode;
  action?: ReactNode;
  compact?: boolean;
}) {
  return (
    <div className={classes(styles.empty, compact && styles.compact)}>
      {picture !== undefined && (
        <div className={styles.picture} aria-hidden>
          {picture}
        </div>
      )}
      <h2 className={styles.emptyTitle}>{title}</h2>
      {children !== undefined && <p className={styles.emptyText}>{children}</p>}
      {action !== undefined && <div className={styles.emptyAction}>{action}</div>}
    </div>
  );
}

export function failureText(what: string, failure: Failure): string {
  const lines = [what, `${failure.code ?? 'error'}: ${failure.message}`];
  if (failure.hint !== undefined) lines.push(`hint: ${failure.hint}`);
  if (failure.details !== undefined) lines.push(`details: ${JSON.stringify(failure.details)}`);
  return lines.join('\n');
}

/** A cause. A long one, as an error's stack, scrolls in its place and does not push the page away. */
function Message({ text }: { text: string }) {
  if (text.length < 1000 && text.split('\n').length < 12) return <p className={styles.message}>{text}</p>;
  return (
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- the keyboard scrolls it
    <div className={styles.longMessage} tabIndex={0} role="group" aria-label="The whole message">
      {text}
    </div>
  );
}

/** What failed, why, what to do, and the details to copy. */
export function ErrorState({
  what,
  error,
  action,
  onRetry,
  compact = false,
}: {
  what: string;
  error: Failure;
  onRetry?: (() => unknown) | undefined;
  action?: ReactNode;
  compact?: boolean;
}) {
  const [copied, setCopied] = useState(false);
  const copy = () => {
    void navigator.clipboard?.writeText(failureText(what, error)).then(() => setCopied(true));
  };
  return (
    <div role="alert" className={classes(styles.error, compact && styles.compactError)}>
      <CircleAlert className={styles.errorIcon} aria-hidden />
      <div className={styles.errorBody}>
        <p className={styles.errorTitle}>{what}</p>
        <Message text={error.message} />
        {error.hint !== undefined && <p className={styles.errorHint}>{error.hint}</p>}
        <div className={styles.errorActions}>
          {action}
          {onRetry !== undefined && <Button onClick={() => void onRetry()}>Try again</Button>}
          <Button kind="quiet" onClick={copy} icon={copied ? <Check /> : <Copy />}>
            {copied ? 'Copied' : 'Copy details'}
          </Button>
        </div>
      </div>
    </div>
  );
}
