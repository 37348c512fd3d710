import { formatCount, formatDuration } from '../../components/format';
import { headlineOf } from '../../components/run-measures';
import { phrase } from '../../components/run-words';
import { Progress } from '../../components/Progress';
import type { RunStore, RunView } from '../../data/run-store';
import { useSeriesVersion, type Run, type RunStatus } from '../../data/runs';
import styles from './ProgressStrip.module.css';

/** Where the run is: phrase, bar, and the few numbers one looks at first. */
export function ProgressStrip({
  run,
  status,
  view,
  store,
}: {
  run: Run;
  status: RunStatus;
  view: RunView;
  store: RunStore;
}) {
  useSeriesVersion(store);
  const { progress } = view;
  const step = Math.max(view.lastStep, run.step);
  const steps = progress?.steps ?? run.steps;
  const ended = run.endedAt !== null && progress === null;
  const headline = headlineOf(run, store.series.last(run.headline.key) ?? run.headline.value);
  return (
    <div className={styles.strip}>
      <div className={styles.now}>
        <p className={styles.phrase} aria-live="off">
          {progress !== null ? phrase(progress) : idlePhrase(status)}
        </p>
        <Progress value={steps > 0 ? step / steps : 0} label={`Step ${step} of ${steps}`} />
        <div className={styles.inner}>
          {progress !== null && progress.total > 0 ? (
            <Progress thin value={progress.done / progress.total} label="Progress of this part" />
          ) : (
            <span className={styles.spacer} />
          )}
        </div>
      </div>
      <dl className={styles.numbers}>
        <Number name="Step" value={`${formatCount(step)} / ${formatCount(steps)}`} wide />
        <Number name={headline.label} value={headline.text} />
        {!ended && (
          <Number
            name="Tokens/s"
            value={progress?.tokensPerSecond == null ? '–' : formatCount(progress.tokensPerSecond)}
          />
        )}
        {ended ? (
          <Number name="Took" value={formatDuration((run.endedAt! - run.createdAt) / 1000)} wide />
        ) : (
          <Number
            name="Time left"
            value={progress?.etaSeconds == null ? '–' : formatDuration(progress.etaSeconds)}
            wide
          />
        )}
      </dl>
    </div>
  );
}

function Number({ name, value, wide = false }: { name: string; value: string; wide?: boolean }) {
  return (
    <div className={wide ? styles.wide : styles.number}>
      <dt>{name}</dt>
      <dd>{value}</dd>
    </div>
  );
}

function idlePhrase(status: RunStatus): string {
  switch (status) {
    case 'queued':
      return 'Waiting for its turn';
    case 'preparing':
      return 'Preparing';
    case 'running':
      return 'Running';
    case 'paused':
      return 'Paused: resume goes on with the next step';
    case 'stopping':
      return 'Finishing the step at hand, then saving';
    case 'completed':
      return 'All steps done; the adapter was saved and read back';
    case 'stopped':
      return 'Stopped by you; what was learnt is saved';
    case 'failed':
      return 'Failed';
    case 'interrupted':
      return 'Interrupted';
    case 'corrupt':
      return 'Its folder cannot be read';
  }
}
