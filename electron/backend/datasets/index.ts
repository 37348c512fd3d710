export { prepareRows, type PromptRow } from './prepare';
export { DatasetRegistry, type DatasetOptions } from './registry';
export { answerOf, promptMessages } from './row-text';
export type { DataRow } from './scan';
