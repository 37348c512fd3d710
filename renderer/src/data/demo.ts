import { demo } from '../../../shared/contract/demo';
import type { RunConfigInput } from '../../../shared/contract/runs';
import type { Dataset, Model } from './library';

/** The run that is one click away on Home; null while its model or data are not there. */
export function demoConfig(models: readonly Model[], datasets: readonly Dataset[]): RunConfigInput | null {
  const model = models.find((each) => each.source === 'bundled' && each.state === 'ready');
  const dataset = datasets.find(
    (each) => each.source === 'bundled' && each.state === 'ready' && each.suggestedReward !== null,
  );
  if (model === undefined || dataset === undefined || dataset.suggestedReward === null) return null;
  return {
    format: 1,
    name: demo.name,
    algorithm: demo.algorithm,
    model: model.id,
    data: {
      dataset: dataset.id,
      mapping: dataset.suggestedMapping,
      heldOut: dataset.heldOut === null ? null : { dataset: dataset.heldOut, rows: demo.data.heldOut.rows },
    },
    reward: { id: dataset.suggestedReward },
    params: demo.params,
  };
}
