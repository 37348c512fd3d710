export { fromEngine } from './engine-errors';
export { requireWriter } from './other-runs';
export type { RunsOptions } from './options';
export { Runs } from './runs';
export type { Rows, Sources, UsableModel } from './sources';
export { runVerbs } from './verbs';
