import { useEffect, useState, type ReactNode } from 'react';
import { Button } from '../components/Button';
import { useConnection } from '../data/context';
import { Refused } from './Refused';
import styles from './Connecting.module.css';

/** The screen below, with a banner while the backend is away; or why this page is not let in. */
export function Connecting({ children }: { children: ReactNode }) {
  const connection = useConnection();
  if (connection.phase === 'refused') {
    return <Refused error={connection.error} onRetry={connection.retry} />;
  }
  return (
    <>
      {connection.phase === 'lost' && connection.attempt > 1 && (
        <div data-banner className={styles.banner} role="status">
          <span>
            The connection to Atelier is lost. A run does not need this page, and the page follows on when the
            connection is back.
          </span>
          <Retry at={connection.retryAt} onRetry={connection.retry} />
        </div>
      )}
      {children}
    </>
  );
}

function Retry({ at, onRetry }: { at: number; onRetry: () => void }) {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 500);
    return () => clearInterval(timer);
  }, []);
  const left = Math.max(0, Math.ceil((at - now) / 1000));
  return (
    <Button kind="quiet" onClick={onRetry}>
      Try now{left > 0 ? ` (${left} s)` : ''}
    </Button>
  );
}
