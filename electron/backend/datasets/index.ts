export { Dropped } from './dropped';
export { makeRows, prepareRows } from './prepare';
export { DatasetRegistry, first, type DatasetOptions } from './registry';
export { answerOf, promptMessages } from './row-text';
export type { DataRow } from './scan';
export {
  sequencesOf,
  type Example,
  type ExampleRow,
  type PairRow,
  type PromptRow,
  type RatedRow,
  type RowList,
  type RowOf,
} from './rows';
