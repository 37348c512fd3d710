import { Link } from '@tanstack/react-router';
import { Plus } from 'lucide-react';
import type { About } from '../../../../shared/algorithms';
import { buttonClass } from '../../components/Button';
import { formatCount } from '../../components/format';
import { Note } from '../../components/Note';
import { Screen, Section } from '../../components/Screen';
import { ErrorState, SkeletonRows } from '../../components/States';
import { Table } from '../../components/Table';
import { Tag } from '../../components/Tag';
import { Time } from '../../components/Time';
import { builtIn, useAlgorithms, type OwnAlgorithm } from '../../data/algorithms';
import { asFailure } from '../../data/failure';
import styles from './AlgorithmsScreen.module.css';

const LEARNS: Record<About['data'], string> = {
  rollouts: 'rewards',
  examples: 'answers',
  rated: 'rated answers',
  pairs: 'pairs',
};

const learnsFrom = ({ data, taught }: Pick<About, 'data' | 'taught'>) =>
  taught === true ? 'a teacher' : LEARNS[data];

/** The user's own algorithms, and those of the app, to be read and copied. */
export function AlgorithmsScreen() {
  const own = useAlgorithms();
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
      <Section title="Your own">
        {own.isError && own.data === undefined ? (
          <ErrorState
            what="Your algorithms cannot be listed."
            error={asFailure(own.error)}
            onRetry={own.refetch}
          />
        ) : own.data === undefined ? (
          <SkeletonRows rows={1} label="Loading algorithms" />
        ) : own.data.length === 0 ? (
          <p className={styles.none}>
            None yet. Copy one of those below and change it: it is checked and tried on one batch as you type,
            and New run offers it beside them.
          </p>
        ) : (
          <Own algorithms={own.data} />
        )}
      </Section>
      <Section title="Built in">
        <BuiltIn />
      </Section>
    </Screen>
  );
}

function Own({ algorithms }: { algorithms: readonly OwnAlgorithm[] }) {
  return (
    <Table
      label="Your own algorithms"
      rows={algorithms}
      rowKey={(row) => row.key}
      columns={[
        {
          key: 'name',
          header: 'Algorithm',
          cell: ({ key, name, info, problems }) => (
            <>
              <Link to="/algorithms/$key" params={{ key }} className={styles.name}>
                {name}
              </Link>{' '}
              {info === null && <Tag tone="warning">has mistakes</Tag>}
              <Note text={info?.help ?? problems[0]?.message ?? ''} />
            </>
          ),
        },
        {
          key: 'learns',
          header: 'Learns from',
          width: 130,
          cell: ({ info }) => info && learnsFrom(info),
        },
        {
          key: 'settings',
          header: 'Settings',
          numeric: true,
          width: 84,
          cell: ({ info }) => formatCount(info?.fields.length),
        },
        {
          key: 'at',
          header: 'Changed',
          numeric: true,
          width: 130,
          cell: ({ updatedAt }) => <Time at={updatedAt} />,
        },
      ]}
    />
  );
}

function BuiltIn() {
  return (
    <Table
      label="Built-in algorithms"
      rows={builtIn}
      rowKey={(row) => row.key}
      columns={[
        {
          key: 'name',
          header: 'Algorithm',
          cell: ({ key, label, help }) => (
            <>
              <Link to="/algorithms/$key" params={{ key }} className={styles.name}>
                {label}
              </Link>
              <Note text={help} />
            </>
          ),
        },
        { key: 'learns', header: 'Learns from', width: 130, cell: learnsFrom },
        {
          key: 'settings',
          header: 'Settings',
          numeric: true,
          width: 84,
          cell: ({ fields }) => formatCount(fields.length),
        },
        {
          key: 'copy',
          header: <span className="visually-hidden">Copy</span>,
          numeric: true,
          width: 130,
          cell: ({ key, label }) => (
            <Link
              to="/algorithms/$key"
              params={{ key: 'new' }}
              search={{ from: key }}
              className="link"
              aria-label={`Copy and edit ${label}`}
            >
              Copy and edit
            </Link>
          ),
        },
      ]}
    />
  );
}
