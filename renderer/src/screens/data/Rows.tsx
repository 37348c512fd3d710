import type { Role } from '../../../../shared/contract/mapping';
import { partNames } from '../../components/column-parts';
import { formatCount, formatPercent } from '../../components/format';
import { EmptyState, ErrorState, SkeletonRows } from '../../components/States';
import { Table } from '../../components/Table';
import { asFailure } from '../../data/failure';
import { ROW_PAGE, useRows, type Dataset } from '../../data/library';
import { Pager } from './Pager';
import styles from './Rows.module.css';

const LONG = 240;

export function Rows({
  dataset,
  page,
  onPage,
}: {
  dataset: Dataset;
  page: number;
  onPage: (page: number) => void;
}) {
  const rows = useRows(dataset.id, page);
  if (rows.isError)
    return (
      <ErrorState what="The rows cannot be read." error={asFailure(rows.error)} onRetry={rows.refetch} />
    );
  if (rows.data === undefined) return <SkeletonRows rows={8} label="Loading rows" />;
  if (rows.data.total === 0) return <EmptyState compact title="The file has no rows" />;
  return (
    <>
      <Table
        label={`Rows of ${dataset.name}`}
        rows={rows.data.rows}
        rowKey={(row) => row.line}
        columns={[
          {
            key: 'line',
            header: 'Line',
            numeric: true,
            width: 64,
            cell: (row) => <span className={styles.quiet}>{formatCount(row.line)}</span>,
          },
          ...dataset.columns.map((column) => ({
            key: column.name,
            header: (
              <>
                {column.name}
                <span className={styles.type}>
                  {partOf(dataset, column.name) ?? column.type}
                  {column.filled < 1 && `, ${formatPercent(column.filled)} filled`}
                </span>
              </>
            ),
            cell: (row: { row: Record<string, unknown> }) => <Cell value={row.row[column.name]} />,
          })),
        ]}
      />
      <Pager page={page} size={ROW_PAGE} total={rows.data.total} onPage={onPage} />
    </>
  );
}

/** What the column is read as; the better of two answers is also what is learnt without the other. */
function partOf({ mapping }: Dataset, name: string): string | undefined {
  const roles = (Object.keys(mapping) as Role[]).filter((role) => mapping[role] === name);
  const role = roles.find((each) => each !== 'completion') ?? roles[0];
  return role && partNames[role].toLowerCase();
}

function Cell({ value }: { value: unknown }) {
  if (value === undefined || value === null) return <span className={styles.quiet}>–</span>;
  const text = typeof value === 'string' ? value : JSON.stringify(value, null, 1);
  return (
    <pre className={styles.cell} title={text.length > LONG ? text : undefined}>
      {text.length > LONG ? `${text.slice(0, LONG)}…` : text}
    </pre>
  );
}
