import type { Estimate, RunConfig } from '../../../shared/contract/runs';
import type { RunsOptions } from './runs';

export async function estimateRun(_config: RunConfig, _options: RunsOptions): Promise<Estimate> {
  throw new Error('to be written');
}
