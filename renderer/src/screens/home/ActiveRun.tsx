import { Link } from '@tanstack/react-router';
import { formatCount, formatDuration } from '../../components/format';
import { Progress } from '../../components/Progress';
import { headlineOf } from '../../components/run-measures';
import { phrase, statusWords } from '../../components/run-words';
import { Sparkline } from '../../components/Sparkline';
import { Status } from '../../components/Status';
import { useRunFollow, type RunSummary } from '../../data/runs';
import styles from './ActiveRun.module.css';

/** The run that trains now, with its curve and where it is. */
export function ActiveRun({ run }: { run: RunSummary }) {
  const { view } = useRunFollow(run.id);
  const status = view.status ?? run.status;
  const step = Math.max(run.step, view.lastStep);
  const { progress } = view;
  const headline = headlineOf(run);
  const warning = view.events.findLast((event) => event.level !== 'info');
  return (
    <Link to="/runs/$id" params={{ id: run.id }} className={styles.card}>
      <div className={styles.head}>
        <span className={styles.name}>{run.name}</span>
        <Status {...statusWords[status]} />
        {run.headline.value !== null && (
          <span className={styles.value}>
            <small>{headline.label}</small> {headline.text}
          </span>
        )}
      </div>
      {run.headline.points.length > 1 && (
        <Sparkline
          area
          stretch
          width={560}
          height={52}
          points={run.headline.points}
          label={`${headline.label} over the steps so far`}
        />
      )}
      <Progress thin value={run.steps > 0 ? step / run.steps : 0} label={`Step ${step} of ${run.steps}`} />
      <div className={styles.foot}>
        <span>
          {progress !== null
            ? phrase(progress)
            : run.queue !== null
              ? `Number ${run.queue} in the queue`
              : (run.message ?? '')}
        </span>
        <span>
          step {formatCount(step)} of {formatCount(run.steps)}
          {progress?.etaSeconds != null && `, ${formatDuration(progress.etaSeconds)} left`}
        </span>
      </div>
      {warning !== undefined && (
        <p className={styles.warning}>
          Step {warning.step}: {warning.message}
        </p>
      )}
    </Link>
  );
}
