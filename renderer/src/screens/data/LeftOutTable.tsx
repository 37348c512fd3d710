import type { LeftOut } from '../../../../shared/contract/datasets';
import { formatCount } from '../../components/format';
import { Table } from '../../components/Table';
import { reasonNames } from './dataset-words';

/** Rows that are not used, by reason. */
export function LeftOutTable({ left }: { left: readonly LeftOut[] }) {
  return (
    <Table
      label="Rows that are left out"
      rows={left}
      rowKey={(row) => row.reason}
      columns={[
        { key: 'reason', header: 'Left out', width: 160, cell: (row) => reasonNames[row.reason] },
        { key: 'count', header: 'Rows', numeric: true, width: 80, cell: (row) => formatCount(row.count) },
        {
          key: 'first',
          header: 'The first',
          cell: (row) => `Line ${formatCount(row.line)}: ${row.message}`,
        },
      ]}
    />
  );
}
