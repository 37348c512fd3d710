export { RunControl, type Wish } from './control';
export type { ExampleRow, PromptRow, RunData, Sample, Score, Scorer, TextSide, TrainJob } from './job';
export { train, type Outcome } from './loop';
export { probe, type Rates } from './probe';
