export { fromEngine } from './engine-errors';
export type { RunsOptions } from './options';
export { Runs } from './runs';
export type { Rows, Sources, UsableModel } from './sources';
export { runVerbs } from './verbs';
