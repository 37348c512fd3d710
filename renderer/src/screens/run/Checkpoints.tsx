import { Link } from '@tanstack/react-router';
import { formatBytes, formatFixed } from '../../components/format';
import { EmptyState, ErrorState, SkeletonRows } from '../../components/States';
import { Table } from '../../components/Table';
import { Time } from '../../components/Time';
import { asFailure } from '../../data/failure';
import type { useCheckpoints, Run } from '../../data/runs';

type CheckpointRow = NonNullable<ReturnType<typeof useCheckpoints>['data']>[number];

export function Checkpoints({ run, query }: { run: Run; query: ReturnType<typeof useCheckpoints> }) {
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
  const rewarded = query.data.some(({ reward }) => reward !== null);
  return (
    <Table
      label="Checkpoints"
      rows={query.data.toReversed()}
      rowKey={(row) => row.step}
      columns={[
        { key: 'step', header: 'After step', numeric: true, width: 90, cell: (row) => row.step },
        ...(rewarded
          ? [
              {
                key: 'reward',
                header: 'Reward then',
                numeric: true,
                width: 110,
                cell: (row: CheckpointRow) => formatFixed(row.reward, 3),
              },
            ]
          : []),
        { key: 'bytes', header: 'Size', numeric: true, width: 90, cell: (row) => formatBytes(row.bytes) },
        { key: 'at', header: 'Saved', cell: (row) => <Time at={row.at} /> },
        {
          key: 'actions',
          header: '',
          numeric: true,
          cell: (row) => (
            <span style={{ display: 'inline-flex', gap: 16 }}>
              {!run.scalarHead && (
                <Link
                  className="link"
                  to="/chat"
                  search={{ model: run.model, run: run.id, checkpoint: row.step }}
                >
                  Chat
                </Link>
              )}
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
