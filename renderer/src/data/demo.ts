import type { RunConfigInput } from '../../../shared/contract/runs';
import type { Dataset, Model } from './library';

/** Settings that let the small bundled model learn in about two minutes on a processor. */
const params = {
  steps: 60,
  prompts: 8,
  groupSize: 8,
  maxNewTokens: 64,
  learningRate: 1e-3,
  loraRank: 16,
  loraAlpha: 32,
};

/** The run that is one click away on Home; null while its model or data are not there. */
export function demoConfig(models: readonly Model[], datasets: readonly Dataset[]): RunConfigInput | null {
  const model = models.find((each) => each.source === 'bundled' && each.state === 'ready');
  const dataset = datasets.find(
    (each) => each.source === 'bundled' && each.state === 'ready' && each.suggestedReward !== null,
  );
  if (model === undefined || dataset === undefined || dataset.suggestedReward === null) return null;
  return {
    format: 1,
    name: 'Demo: learn to carry',
    algorithm: 'grpo',
    model: model.id,
    data: {
      dataset: dataset.id,
      mapping: dataset.suggestedMapping,
      heldOut: dataset.heldOut === null ? null : { dataset: dataset.heldOut, rows: 128 },
    },
    reward: { id: dataset.suggestedReward },
    params,
  };
}
