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
export { STATE_BYTES } from './optimizer-spec';
export { train, type Outcome } from './loop';
export { probe, type Rates } from './probe';
export { probeUpdate } from './probe-update';
export type { ProbeRequest } from './probe-request';
export { covers } from './probe-sampling';
export { isPlain } from './reward-sum';
export { largestMicroBatch, packedLines, type MicroBatch } from './micro-batch';
export { packedLine } from './probe-training';
export { updateBytes, type UpdateBytes } from './update-bytes';
export { extraForwards, scoreOfRows } from './score-rows';
