import { Notice } from '../../components/Notice';
import { ErrorState } from '../../components/States';
import { asFailure } from '../../data/failure';
import type { RunView } from '../../data/run-store';
import type { Run, RunStatus } from '../../data/runs';
import styles from './RunNotes.module.css';

/** What one has to know of a run before its numbers: why it stands still, and the last warning. */
export function RunNotes({
  run,
  status,
  view,
  onEvents,
}: {
  run: Run;
  status: RunStatus;
  view: RunView;
  onEvents: () => void;
}) {
  const message = view.message ?? run.message;
  const health = view.events.filter((event) => event.level !== 'info').slice(-1)[0];
  return (
    <div className={styles.notes}>
      {view.phase === 'failed' && view.error !== null && (
        <ErrorState what="The run's data cannot be followed." error={asFailure(view.error)} />
      )}
      {status === 'corrupt' && (
        <ErrorState
          what="The run's folder cannot be read."
          error={{
            message: message ?? 'Its files are damaged.',
            code: 'run_corrupt',
            hint: 'Nothing was changed in it. Put the folder right by hand, or delete the run.',
          }}
        />
      )}
      {status === 'failed' && (
        <ErrorState
          what="The run failed."
          error={{
            message: message ?? 'The cause is not known.',
            code: 'run_failed',
            hint: 'Events tell what came before. What was saved as a checkpoint is kept.',
          }}
        />
      )}
      {status === 'interrupted' && (
        <Notice level="warning" title="The run was interrupted">
          {message ?? 'The process that trained it ended.'}{' '}
          {view.checkpoints.length > 0
            ? 'Resume goes on from the last checkpoint; nothing before it is computed twice.'
            : 'It had saved no checkpoint yet: Resume begins anew, with the same settings.'}
        </Notice>
      )}
      {status === 'queued' && (
        <Notice
          level="info"
          title={run.queue === null ? 'Waiting for its turn' : `Number ${run.queue} in the queue`}
        >
          One run trains at a time. This one starts by itself when the run before it ends.
        </Notice>
      )}
      {health !== undefined && (
        <Notice
          level={health.level}
          title={`Step ${health.step}: ${health.message}`}
          action={
            <button type="button" className="link" onClick={onEvents}>
              All events
            </button>
          }
        >
          {health.hint}
        </Notice>
      )}
    </div>
  );
}
