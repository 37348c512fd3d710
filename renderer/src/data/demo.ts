import { demo, learnsAllWith, learnsWith } from '../../../shared/contract/demo';
import type { RunConfigInput } from '../../../shared/contract/runs';
import type { Dataset, Model } from './library';

/** The run that is one click away on Home; null while its model or data are not there. */
export function demoConfig(models: readonly Model[], datasets: readonly Dataset[]): RunConfigInput | null {
  const model = models.find((each) => each.id === demo.model);
  const dataset = datasets.find((each) => each.id === demo.data.dataset);
  return model?.state === 'ready' && dataset?.state === 'ready' ? demo : null;
}

/** Settings under which the bundled model learns within minutes; undefined for other models. */
export function demoParams(
  model: string | undefined,
  algorithm: string,
): Record<string, unknown> | undefined {
  const settings = model === demo.model ? learnsWith[algorithm] : undefined;
  return settings && { ...settings, ...learnsAllWith };
}
