import type { DataKind } from '../../../shared/algorithms';
import type { Dataset, Mapping } from '../../../shared/contract/datasets';
import { missingRole } from '../../../shared/contract/mapping';
import { AtelierError } from '../../../shared/rpc/errors';

type Columns = Dataset['columns'];

export interface MappedData {
  name: string;
  columns: Columns;
  mapping: Mapping;
}

/** The mapping that is used: the chosen one, or the data set's where none is. Throws where it does not fit the data. */
export function resolveMapping(data: MappedData, chosen: Mapping, use: DataKind): Mapping {
  const mapping = Object.values(chosen).some((column) => column) ? chosen : data.mapping;
  requireColumns(data, mapping);
  const there = data.columns.map((column) => column.name);
  const missing = missingRole(mapping, use);
  if (missing) {
    throw new AtelierError(
      'invalid_data',
      `Which column of "${data.name}" is the ${missing}? None is chosen.`,
      there.length > 0 ? `Its columns: ${there.join(', ')}.` : undefined,
      { path: `data.mapping.${missing}`, columns: there },
    );
  }
  return mapping;
}

/** @throws AtelierError invalid_data that names a column which is not there */
export function requireColumns(data: Omit<MappedData, 'mapping'>, mapping: Mapping): void {
  const there = data.columns.map((column) => column.name);
  for (const [role, column] of Object.entries(mapping)) {
    if (!column || there.includes(column)) continue;
    throw new AtelierError(
      'invalid_data',
      `The data set "${data.name}" has no column "${column}" (chosen as ${role}).`,
      there.length > 0 ? `Its columns: ${there.join(', ')}.` : 'It has no columns at all.',
      { path: `data.mapping.${role}`, column, columns: there },
    );
  }
}
