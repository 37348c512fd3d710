import { Link } from '@tanstack/react-router';
import { Plus } from 'lucide-react';
import { buttonClass } from '../../components/Button';
import { Screen } from '../../components/Screen';
import { ErrorState, SkeletonRows } from '../../components/States';
import { Table } from '../../components/Table';
import { Tag } from '../../components/Tag';
import { builtIn, useAlgorithms } from '../../data/algorithms';
import { asFailure } from '../../data/failure';
import styles from './AlgorithmsScreen.module.css';

const LEARNS: Record<string, string> = {
  rollouts: 'rewards',
  examples: 'answers',
  rated: 'rated answers',
  pairs: 'pairs',
};

/** The app's algorithms, to be read and copied, and the user's own. */
export function AlgorithmsScreen() {
  const own = useAlgorithms();
  const rows = [
    ...(own.data ?? []).map(({ key, name, info, problems }) => ({
      key,
      label: name,
      help: info?.help ?? problems[0]?.message ?? '',
      own: true,
      learns: info === null ? null : LEARNS[info.data]!,
      settings: info?.fields.length ?? null,
    })),
    ...builtIn.map(({ key, label, help, data, fields }) => ({
      key,
      label,
      help,
      own: false,
      learns: LEARNS[data]!,
      settings: fields.length,
    })),
  ];
  return (
    <Screen
      title="Algorithms"
      meta="Each is one file: its settings, what a step is made of, its advantages and its loss"
      actions={
        <Link to="/algorithms/$key" params={{ key: 'new' }} className={buttonClass('primary')}>
          <Plus aria-hidden /> New algorithm
        </Link>
      }
    >
      {own.isError && own.data === undefined ? (
        <ErrorState
          what="Your algorithms cannot be listed."
          error={asFailure(own.error)}
          onRetry={own.refetch}
        />
      ) : own.data === undefined ? (
        <SkeletonRows rows={6} label="Loading algorithms" />
      ) : (
        <Table
          label="Algorithms"
          rows={rows}
          rowKey={(row) => row.key}
          columns={[
            {
              key: 'name',
              header: 'Algorithm',
              cell: (row) => (
                <>
                  <Link to="/algorithms/$key" params={{ key: row.key }} className={styles.name}>
                    {row.label}
                  </Link>{' '}
                  {!row.own && <Tag>built in</Tag>}
                  {row.own && row.learns === null && <Tag tone="warning">has mistakes</Tag>}
                  <div className={styles.help}>{row.help}</div>
                </>
              ),
            },
            { key: 'learns', header: 'Learns from', width: 130, cell: (row) => row.learns ?? '' },
            {
              key: 'settings',
              header: 'Settings',
              numeric: true,
              width: 90,
              cell: (row) => row.settings ?? '',
            },
            {
              key: 'copy',
              header: '',
              width: 130,
              cell: (row) =>
                row.own ? null : (
                  <Link
                    to="/algorithms/$key"
                    params={{ key: 'new' }}
                    search={{ from: row.key }}
                    className="link"
                    aria-label={`Copy and edit ${row.label}`}
                  >
                    Copy and edit
                  </Link>
                ),
            },
          ]}
        />
      )}
    </Screen>
  );
}
