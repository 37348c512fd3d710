import type { ReactNode } from 'react';
import { classes } from './classes';
import styles from './Table.module.css';

export interface ColumnSpec<R> {
  key: string;
  header: ReactNode;
  /** Right-aligned with tabular figures. */
  numeric?: boolean;
  width?: number | string;
  /** Left out where there is little room. */
  spare?: boolean;
  cell: (row: R, index: number) => ReactNode;
}

function cellClass({ numeric, spare }: { numeric?: boolean; spare?: boolean }): string {
  return classes(numeric === true && styles.numeric, spare === true && styles.spare);
}

/** A plain table. The first column's content carries the row's link, where it has one. */
export function Table<R>({
  label,
  columns,
  rows,
  rowKey,
  sticky = false,
  bare = false,
  dense = false,
  scrolls = false,
}: {
  label: string;
  columns: readonly ColumnSpec<R>[];
  rows: readonly R[];
  rowKey: (row: R, index: number) => string | number;
  sticky?: boolean;
  /** Without its own border: inside a panel. */
  bare?: boolean;
  dense?: boolean;
  /** Wider than its place: the keyboard can scroll it. */
  scrolls?: boolean;
}) {
  return (
    <div
      className={classes(styles.frame, bare && styles.bare)}
      {...(scrolls ? { tabIndex: 0, role: 'region', 'aria-label': label } : {})}
    >
      <table className={classes(styles.table, dense && styles.dense)} aria-label={label}>
        <thead className={sticky ? styles.sticky : undefined}>
          <tr>
            {columns.map((column) => (
              <th
                key={column.key}
                scope="col"
                className={cellClass(column)}
                style={column.width === undefined ? undefined : { width: column.width }}
              >
                {column.header}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, index) => (
            <tr key={rowKey(row, index)}>
              {columns.map((column) => (
                <td key={column.key} className={cellClass(column)}>
                  {column.cell(row, index)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
