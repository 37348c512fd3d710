export { fromEngine } from './engine-errors';
export { RunEntry } from './run-entry';
export { Runs, type RunsOptions } from './runs';
export type { Rows, Sources, UsableModel } from './sources';
export { runVerbs } from './verbs';
