export { RunControl, type Wish } from './control';
export { DataOrder } from './data-order';
export { Interrupted, interruptible } from './interrupt';
export { draw } from './random';
export {
  type RunData,
  type Sample,
  type Score,
  type Scorer,
  type TextSide,
  type TrainJob,
  type UsableAlgorithm,
  type WeightedScorer,
  type Weights,
} from './job';
export { mostOnOne } from './share';
export { train, type Outcome } from './loop';
export { probe, type Rates } from './probe';
export type { ProbeRequest } from './probe-request';
export { covers } from './probe-sampling';
export { isPlain } from './reward-sum';
export { extraForwards, scoreOfRows } from './score-rows';
