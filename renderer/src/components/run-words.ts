import type { Progress, RunStatus } from '../../../shared/contract/runs';
import { formatCount, plural } from './format';
import type { StatusTone } from './Status';

export const statusWords: Record<RunStatus, { tone: StatusTone; label: string }> = {
  queued: { tone: 'waiting', label: 'Queued' },
  preparing: { tone: 'active', label: 'Preparing' },
  running: { tone: 'active', label: 'Running' },
  paused: { tone: 'waiting', label: 'Paused' },
  stopping: { tone: 'active', label: 'Stopping' },
  completed: { tone: 'done', label: 'Completed' },
  stopped: { tone: 'stopped', label: 'Stopped, saved' },
  failed: { tone: 'bad', label: 'Failed' },
  corrupt: { tone: 'bad', label: 'Cannot be read' },
  interrupted: { tone: 'warning', label: 'Interrupted' },
};

/** What the run does now, in one phrase. */
export function phrase(progress: Progress): string {
  const { phase, done, total } = progress;
  switch (phase) {
    case 'preparing':
      return 'Preparing: loading the model and reading the data';
    case 'evaluate':
      return `Measuring held-out rows, ${formatCount(done)} of ${formatCount(total)}`;
    case 'rollout':
      return `Sampling ${plural(total, 'answer')}`;
    case 'reward':
      return `Scoring ${plural(total, 'answer')}`;
    case 'train':
      return 'Updating the adapter';
    case 'checkpoint':
      return 'Saving a checkpoint';
    case 'finishing':
      return 'Saving the adapter and reading it back';
  }
}
