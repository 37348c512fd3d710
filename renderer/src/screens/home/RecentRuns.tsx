import { Link } from '@tanstack/react-router';
import { algorithmByKey } from '../../../../shared/algorithms';
import { unknown } from '../../components/format';
import { headlineOf, heldOutOf } from '../../components/run-measures';
import { statusWords } from '../../components/run-words';
import { Sparkline } from '../../components/Sparkline';
import { Status } from '../../components/Status';
import { Table } from '../../components/Table';
import { Time } from '../../components/Time';
import type { RunSummary } from '../../data/runs';
import styles from './RecentRuns.module.css';

export function RecentRuns({ runs }: { runs: readonly RunSummary[] }) {
  return (
    <Table
      label="Recent runs"
      rows={runs}
      rowKey={(run) => run.id}
      columns={[
        {
          key: 'name',
          header: 'Run',
          cell: (run) => (
            <>
              <Link to="/runs/$id" params={{ id: run.id }} className={styles.name} title={run.name}>
                {run.name}
              </Link>
              <div className={styles.quiet}>
                {algorithmByKey(run.algorithm)?.label ?? run.algorithm}, {run.modelName},{' '}
                <Time at={run.createdAt} />
              </div>
            </>
          ),
        },
        { key: 'status', header: 'Status', cell: (run) => <Status {...statusWords[run.status]} small /> },
        {
          key: 'curve',
          spare: true,
          header: 'Curve',
          cell: (run) => (
            <Sparkline
              points={run.headline.points}
              width={80}
              height={18}
              label={`${headlineOf(run).label} of ${run.name}`}
            />
          ),
        },
        {
          key: 'value',
          header: 'Last',
          numeric: true,
          cell: (run) => (
            <>
              {headlineOf(run).text}
              <div className={styles.quiet} title={headlineOf(run).label}>
                {headlineOf(run).label}
              </div>
            </>
          ),
        },
        {
          key: 'held-out',
          header: 'Held out',
          numeric: true,
          cell: (run) => {
            const held = heldOutOf(run);
            return held === null || held.change === '' ? (
              unknown
            ) : (
              <span title={`${held.label}: ${held.before} before, ${held.after} after`}>{held.change}</span>
            );
          },
        },
        {
          key: 'next',
          header: <span className="visually-hidden">What next</span>,
          numeric: true,
          width: 104,
          cell: (run) =>
            run.status === 'completed' || run.status === 'stopped' ? (
              <span className={styles.next}>
                {!run.scalarHead && (
                  <Link className="link" to="/chat" search={{ model: run.model, run: run.id }}>
                    Chat
                  </Link>
                )}
                <Link className="link" to="/export" search={{ run: run.id }}>
                  Export
                </Link>
              </span>
            ) : (
              <Link className="link" to="/new" search={{ from: run.id }}>
                Run again
              </Link>
            ),
        },
      ]}
    />
  );
}
