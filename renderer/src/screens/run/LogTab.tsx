import { formatAbsolute } from '../../components/format';
import { Status } from '../../components/Status';
import { EmptyState } from '../../components/States';
import { Table } from '../../components/Table';
import type { RunView } from '../../data/run-store';

const levels = {
  info: { tone: 'quiet', label: 'Info' },
  warning: { tone: 'warning', label: 'Warning' },
  error: { tone: 'bad', label: 'Error' },
} as const;

/** What happened in the run, newest first. */
export function LogTab({ view }: { view: RunView }) {
  if (view.events.length === 0) {
    return (
      <EmptyState compact title="Nothing to tell">
        Warnings with their remedy, pauses, checkpoints that failed and the like are listed here, and marked
        on the curves.
      </EmptyState>
    );
  }
  return (
    <Table
      label="Events of the run"
      rows={view.events.toReversed()}
      rowKey={(event) => event.seq}
      columns={[
        {
          key: 'level',
          header: 'Level',
          width: 96,
          cell: (event) => <Status {...levels[event.level]} small />,
        },
        { key: 'step', header: 'Step', numeric: true, width: 64, cell: (event) => event.step },
        {
          key: 'message',
          header: 'What happened',
          cell: (event) => (
            <>
              {event.message}
              {event.hint !== undefined && <div style={{ color: 'var(--n11)' }}>{event.hint}</div>}
            </>
          ),
        },
        { key: 'at', header: 'When', width: 190, cell: (event) => formatAbsolute(event.at) },
      ]}
    />
  );
}
