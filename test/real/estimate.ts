import type { AtelierContract } from '../../shared/contract';
import type { Estimate, RunConfigInput } from '../../shared/contract/runs';
import type { Client } from '../../shared/rpc';

type Runs = Client<AtelierContract>['runs'];

/** What the New run screen shows. @throws where the configuration has a problem that stops the run */
export async function estimate(runs: Runs, config: RunConfigInput): Promise<Estimate> {
  const found = await runs.estimate(config);
  const errors = found.problems.filter(({ level }) => level === 'error');
  if (errors.length > 0) throw new Error(errors.map(({ message }) => message).join('; '));
  return found;
}

export interface Cost {
  /** Bytes at the peak. */
  memory: number;
  /** Seconds from the run's start to its end. */
  seconds: number;
}

/** A finished run's own figures. */
export async function measuredCost(runs: Runs, id: string): Promise<Cost> {
  const { createdAt, endedAt } = await runs.get({ id });
  let memory = 0;
  for await (const row of runs.follow({ id }))
    if (row.kind === 'step') memory = Math.max(memory, row.metrics['perf/peak_bytes']!);
  return { memory, seconds: (endedAt! - createdAt) / 1000 };
}

export const isClose = (estimated: number, measured: number): boolean =>
  Math.abs(estimated / measured - 1) <= 0.25;
