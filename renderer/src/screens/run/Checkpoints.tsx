import { Link } from '@tanstack/react-router';
import { formatBytes, formatFixed } from '../../components/format';
import { EmptyState, ErrorState, SkeletonRows } from '../../components/States';
import { Table } from '../../components/Table';
import { Time } from '../../components/Time';
import { asFailure } from '../../data/failure';
import type { RunView } from '../../data/run-store';
import { useCheckpoints, type Run } from '../../data/runs';
import { useEffect } from 'react';

export function Checkpoints({ run, view }: { run: Run; view: RunView }) {
  const query = useCheckpoints(run.id);
  const { refetch } = query;
  useEffect(() => void refetch(), [view.checkpoints.length, refetch]);
  if (query.isError)
    return (
      <ErrorState
        what="The checkpoints cannot be listed."
        error={asFailure(query.error)}
        onRetry={query.refetch}
      />
    );
  if (query.data === undefined) return <SkeletonRows rows={3} label="Loading checkpoints" />;
  if (query.data.length === 0) {
    return (
      <EmptyState compact title="No checkpoint yet">
        The adapter is saved every {run.config.checkpointEvery} steps and after the last one. A checkpoint can
        be chatted with, exported, and is where a broken-off run goes on.
      </EmptyState>
    );
  }
  return (
    <Table
      label="Checkpoints"
      rows={query.data.toReversed()}
      rowKey={(row) => row.step}
      columns={[
        { key: 'step', header: 'After step', numeric: true, width: 90, cell: (row) => row.step },
        {
          key: 'reward',
          header: 'Reward then',
          numeric: true,
          width: 110,
          cell: (row) => formatFixed(row.reward, 3),
        },
        { key: 'bytes', header: 'Size', numeric: true, width: 90, cell: (row) => formatBytes(row.bytes) },
        { key: 'at', header: 'Saved', cell: (row) => <Time at={row.at} /> },
        {
          key: 'actions',
          header: '',
          numeric: true,
          cell: (row) => (
            <span style={{ display: 'inline-flex', gap: 16 }}>
              <Link
                className="link"
                to="/chat"
                search={{ model: run.model, run: run.id, checkpoint: row.step }}
              >
                Chat
              </Link>
              <Link className="link" to="/export" search={{ run: run.id, checkpoint: row.step }}>
                Export
              </Link>
            </span>
          ),
        },
      ]}
    />
  );
}
