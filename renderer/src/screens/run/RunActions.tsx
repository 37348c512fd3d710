import { Link, useNavigate } from '@tanstack/react-router';
import { Download, MessagesSquare, Pause, Play, Square } from 'lucide-react';
import { useState } from 'react';
import { Button, buttonClass } from '../../components/Button';
import { Dialog } from '../../components/Dialog';
import { RemoveDialog } from '../../components/RemoveDialog';
import { ErrorState } from '../../components/States';
import { asFailure } from '../../data/failure';
import { useRunAction, type Run, type RunStatus } from '../../data/runs';

/** What can be done with a run in the state it is in. */
export function RunActions({ run, status }: { run: Run; status: RunStatus }) {
  const action = useRunAction(run.id);
  const navigate = useNavigate();
  const [asking, setAsking] = useState<'stop' | 'leave' | 'remove' | null>(null);
  const pending = action.isPending ? action.variables : undefined;
  const waits = status === 'paused' || status === 'interrupted';
  const going = status === 'running' || status === 'preparing';
  const over =
    status === 'completed' ||
    status === 'stopped' ||
    status === 'failed' ||
    status === 'interrupted' ||
    status === 'corrupt';

  return (
    <>
      {going && (
        <Button icon={<Pause />} busy={pending === 'pause'} onClick={() => action.mutate('pause')}>
          Pause
        </Button>
      )}
      {(waits || status === 'stopped' || status === 'failed') && (
        <Button
          kind={waits ? 'primary' : 'secondary'}
          icon={<Play />}
          busy={pending === 'resume'}
          onClick={() => action.mutate('resume')}
        >
          Resume
        </Button>
      )}
      {(going || status === 'paused') && (
        <Button icon={<Square />} onClick={() => setAsking('stop')}>
          Stop and save
        </Button>
      )}
      {status === 'queued' && <Button onClick={() => setAsking('leave')}>Leave the queue</Button>}
      {(status === 'completed' || status === 'stopped' || status === 'paused') && (
        <>
          {!run.scalarHead && (
            <Link to="/chat" search={{ model: run.model, run: run.id }} className={buttonClass()}>
              <MessagesSquare aria-hidden /> Chat
            </Link>
          )}
          <Link
            to="/export"
            search={{ run: run.id }}
            className={buttonClass(status === 'paused' ? 'secondary' : 'primary')}
          >
            <Download aria-hidden /> Export
          </Link>
        </>
      )}
      {over && (
        <Button kind="quiet" onClick={() => setAsking('remove')}>
          Delete…
        </Button>
      )}

      <Dialog
        // a run whose turn comes meanwhile is asked about anew
        open={status === 'queued' ? asking === 'leave' : asking === 'stop' && !over}
        onClose={() => setAsking(null)}
        title={status === 'queued' ? 'Leave the queue?' : 'Stop this run and save it?'}
        description={
          status === 'queued'
            ? 'The run has not begun; it is listed as stopped.'
            : 'What was learnt until now is saved as a checkpoint that you can chat with and export. The run can be resumed from there.'
        }
        footer={
          <>
            <Button kind="quiet" onClick={() => setAsking(null)}>
              Keep it
            </Button>
            <Button
              kind="primary"
              busy={pending === 'stop'}
              onClick={() => action.mutate('stop', { onSettled: () => setAsking(null) })}
            >
              {status === 'queued' ? 'Leave the queue' : 'Stop and save'}
            </Button>
          </>
        }
      />
      <RemoveDialog
        open={asking === 'remove'}
        title={`Delete “${run.name}”?`}
        description="Its checkpoints, rollouts and exports inside the run’s folder are deleted. This cannot be undone."
        action="Delete run"
        busy={pending === 'remove'}
        failure={null}
        onClose={() => setAsking(null)}
        onRemove={() =>
          action.mutate('remove', {
            onSuccess: () => void navigate({ to: '/runs' }),
            onSettled: () => setAsking(null),
          })
        }
      />
      <Dialog open={action.isError} onClose={() => action.reset()} title="That did not work">
        <ErrorState
          what={`The run could not be changed (${action.variables ?? ''}).`}
          error={asFailure(action.error)}
        />
      </Dialog>
    </>
  );
}
