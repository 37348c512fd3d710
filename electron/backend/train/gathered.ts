import type { NewGroup, NewRollout } from '../store';
import type { TrainRow } from './batch';
import type { ExampleRow } from '../datasets';

/** What one step learns from, and what is kept of it. */
export interface Gathered {
  rows: TrainRow[];
  groups: NewGroup[];
  rollouts: NewRollout[];
  metrics: Record<string, number>;
  /** Answers whose reward failed (an abstention is none), of `total`. */
  failed: number;
  total: number;
  firstFailure: string | null;
  /** Whether any group has rewards to compare. */
  alive: boolean;
}

export const exampleRows = (examples: readonly ExampleRow[]): TrainRow[] =>
  examples.map((example, group) => ({
    ids: example.ids,
    group,
    use: 'train',
    loss: example.lossMask.slice(1),
    values: {},
  }));

/** A step on rows of the dataset: nothing was sampled, nothing rewarded. */
export const fromDataset = (rows: TrainRow[]): Gathered => ({
  rows,
  groups: [],
  rollouts: [],
  metrics: {},
  failed: 0,
  total: rows.length,
  firstFailure: null,
  alive: true,
});
