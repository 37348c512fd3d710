import type { Needs } from '../../../shared/algorithms';
import type { LossProgram } from '../../../shared/program';
import { DataOrder } from './data-order';
import type { TrainJob } from './job';

export interface Plan {
  needs: Needs;
  steps: number;
  program: LossProgram;
  /** Where the algorithm trains one. */
  critic: LossProgram | null;
  order: DataOrder;
}

/** What the algorithm makes of the run's settings and data. */
export async function planOf({ algorithm, params, data, config }: TrainJob): Promise<Plan> {
  const needs = algorithm.needs(params);
  const { policy, critic } = algorithm.losses(params);
  return {
    needs,
    steps: await algorithm.steps(params, data.rows.length),
    program: policy,
    critic: critic ?? null,
    order: new DataOrder(
      data.rows.length,
      needs.prompts,
      config.seed,
      needs.data === 'rollouts' ? 'wrap' : 'ragged',
    ),
  };
}
