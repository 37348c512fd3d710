import type { z } from 'zod';
import type { Column } from '../../../shared/contract/datasets';
import { Select } from './Select';

const NONE = '\u0000none';

/** Which column plays a part; undefined: none does. */
export function ColumnSelect({
  column,
  columns,
  onChange,
  ...ids
}: {
  column: string | undefined;
  columns: readonly z.infer<typeof Column>[];
  onChange: (column: string | undefined) => void;
  id?: string;
  'aria-describedby'?: string;
  'aria-invalid'?: true;
}) {
  return (
    <Select
      {...ids}
      value={column ?? NONE}
      options={[
        { value: NONE, label: 'None' },
        ...columns.map(({ name, sample }) => ({ value: name, label: name, note: sample.slice(0, 60) })),
      ]}
      onChange={(next) => onChange(next === NONE ? undefined : next)}
    />
  );
}
