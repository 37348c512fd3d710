export type { Use } from './mapping';
export { preparePrompts, prepareExamples, type ExampleRow, type Prepared, type PromptRow } from './prepare';
export { DatasetRegistry, type DatasetOptions } from './registry';
export { answerOf, promptMessages } from './row-text';
export type { DataRow } from './scan';
