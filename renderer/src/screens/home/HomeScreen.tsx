import { Link } from '@tanstack/react-router';
import { Plus } from 'lucide-react';
import { buttonClass } from '../../components/Button';
import { Screen, Section } from '../../components/Screen';
import { ErrorState, SkeletonRows } from '../../components/States';
import { asFailure } from '../../data/failure';
import { isActive, useRuns, type RunSummary } from '../../data/runs';
import { ActiveRun } from './ActiveRun';
import { DemoCard } from './DemoCard';
import { Machine } from './Machine';
import { RecentRuns } from './RecentRuns';
import styles from './HomeScreen.module.css';

export function HomeScreen() {
  const runs = useRuns();
  return (
    <Screen
      wide
      title="Home"
      actions={
        <Link to="/new" className={buttonClass('primary')}>
          <Plus aria-hidden /> New run
        </Link>
      }
    >
      {runs.isError && runs.data === undefined ? (
        <ErrorState what="The runs cannot be listed." error={asFailure(runs.error)} onRetry={runs.refetch} />
      ) : runs.data === undefined ? (
        <SkeletonRows rows={5} label="Loading runs" />
      ) : (
        <Content runs={runs.data} />
      )}
    </Screen>
  );
}

function Content({ runs }: { runs: readonly RunSummary[] }) {
  // as they come to their turn; the list has the newest first
  const active = runs
    .filter((run) => isActive(run.status) || run.status === 'paused' || run.status === 'interrupted')
    .sort((a, b) => (a.queue ?? 0) - (b.queue ?? 0));
  const rest = runs.filter((run) => !active.includes(run));
  return (
    <div className={styles.columns}>
      <div>
        {active.length > 0 && (
          <Section title={active.length === 1 ? 'Under way' : `Under way, ${active.length}`}>
            <div className={styles.stack}>
              {active.map((run) => (
                <ActiveRun key={run.id} run={run} />
              ))}
            </div>
          </Section>
        )}
        {runs.length === 0 && (
          <div className={styles.welcome}>
            <h2>Teach a model by rewarding what it does well</h2>
            <p>
              Pick a model, write a reward, and watch the answers change. Everything runs on this machine,
              without a network.
            </p>
          </div>
        )}
        {rest.length > 0 && (
          <Section
            title="Recent runs"
            actions={
              <Link to="/runs" className="link">
                All runs
              </Link>
            }
          >
            <RecentRuns runs={rest.slice(0, 8)} />
          </Section>
        )}
        {(runs.length === 0 || active.length === 0) && <DemoCard first={runs.length === 0} />}
      </div>
      <Machine />
    </div>
  );
}
