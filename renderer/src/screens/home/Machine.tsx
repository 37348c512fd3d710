import { Section } from '../../components/Screen';
import { ErrorState, Skeleton } from '../../components/States';
import { Status } from '../../components/Status';
import { asFailure } from '../../data/failure';
import { useChecks } from '../../data/system';
import styles from './Machine.module.css';

const states = {
  ok: { tone: 'done', label: '' },
  warning: { tone: 'warning', label: '' },
  failed: { tone: 'bad', label: '' },
} as const;

/** Versions and folders are for Settings, unless something is wrong with them. */
const matters = ({ id, state }: { id: string; state: string }) =>
  state !== 'ok' || ['engine', 'memory', 'disk'].includes(id);

/** What this machine is and whether it can train, as the backend measured it. */
export function Machine() {
  const checks = useChecks();
  return (
    <aside aria-label="This machine">
      <Section title="This machine">
        {checks.isError ? (
          <ErrorState
            compact
            what="The machine could not be checked."
            error={asFailure(checks.error)}
            onRetry={checks.refetch}
          />
        ) : checks.data === undefined ? (
          <Skeleton height={140} />
        ) : (
          <ul className={styles.checks}>
            {checks.data.filter(matters).map((check) => (
              <li key={check.id}>
                <Status {...states[check.state]} />
                <div>
                  <p>
                    {check.label}
                    <span className="visually-hidden">: {check.state}</span>
                  </p>
                  <p className={styles.detail}>{check.detail}</p>
                  {check.state !== 'ok' && check.fix !== undefined && (
                    <p className={styles.fix}>{check.fix}</p>
                  )}
                </div>
              </li>
            ))}
          </ul>
        )}
      </Section>
    </aside>
  );
}
