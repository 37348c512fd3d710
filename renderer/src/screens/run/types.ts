import type { RolloutSort } from '../../data/rollouts';

/** What the address of a run's page holds. */
export interface RunSearch {
  tab: 'overview' | 'rollouts' | 'time' | 'log' | 'checkpoints' | 'config';
  view: 'charts' | 'table';
  step?: number | undefined;
  group?: number | undefined;
  rollout?: number | undefined;
  q?: string | undefined;
  sort: RolloutSort;
  up?: boolean | undefined;
  show: 'text' | 'tokens';
  page?: number | undefined;
}

export type SetSearch = (change: Partial<RunSearch>) => void;
