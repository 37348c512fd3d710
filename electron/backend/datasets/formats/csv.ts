import { delimited } from './delimited';

/** A header without a comma is split where spreadsheets of other languages split it. */
export const csv = delimited('CSV', ['.csv'], (header) =>
  header.includes(',') ? ',' : ([';', '\t'].find((delimiter) => header.includes(delimiter)) ?? ','),
);
