import type { Rows, Trainable } from '../../../native/face';
import type { Weights } from './job';

/** What a run trains: an adapter, or all parameters of a model of its own. */
export interface Subject {
  weights: Weights;
  trainable: Trainable;
  /** Numbers that are trained. */
  parameters: number;
  /** Writes its files into a checkpoint's folder. @throws AtelierError invalid_data where a weight is not finite */
  save(folder: string, step: number): Promise<void>;
  /** Parts that updates have left as they were, of how many; null where that cannot be told. */
  still(): Promise<{ names: string[]; of: number } | null>;
  /** Whether it differs from where training began. */
  moved(): Promise<boolean>;
  /** What such weights compute on rows: last-position logits, or scores where that is what is trained. */
  outputs(weights: Weights, rows: Rows): Promise<Float32Array>;
  /** Another one from a checkpoint's folder, to be compared with this one. */
  reload(folder: string): Promise<{ weights: Weights; close(): Promise<void> }>;
  close(): Promise<void>;
}
