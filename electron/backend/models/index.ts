export type { Inspection } from './inspection';
export { ModelRegistry, type ModelOptions, type OpenModel } from './registry';
