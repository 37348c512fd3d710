import type { NewGroup, NewRollout } from '../store';
import type { TrainRow } from './batch';
import type { ExampleRow } from './job';

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

export function gatherExamples(examples: ExampleRow[]): Gathered {
  return {
    rows: examples.map((example, group) => ({
      ids: example.ids,
      group,
      use: 'train',
      loss: example.lossMask.slice(1),
      advantage: 0,
      samplerLogp: null,
      refLogp: null,
    })),
    groups: [],
    rollouts: [],
    metrics: {},
    failed: 0,
    total: examples.length,
    firstFailure: null,
    alive: true,
  };
}
