import {
  aboutOf,
  algorithmByKey,
  allMetrics,
  dataKindOf,
  heldOutMetricsOf,
  metricsOf,
  type About,
  type MetricInfo,
} from '../../../shared/algorithms';
import type { Run } from '../../../shared/contract/runs';
import { formatSigned } from './format';
import { metricFormat } from './metric-format';

export interface Shown {
  label: string;
  /** Shares with their %. */
  text: string;
}

/** The algorithm of a run; undefined: one that this version does not have. */
export function algorithmOf({ algorithm, own }: Pick<Run, 'algorithm' | 'own'>): About | undefined {
  if (own !== null) return own as About;
  const known = algorithmByKey(algorithm);
  return known && aboutOf(known);
}

/** The metric that stands for a run, in words. */
export function headlineOf(run: Pick<Run, 'algorithm' | 'headline'>, value = run.headline.value): Shown {
  const known = algorithmByKey(run.algorithm);
  // an algorithm of one's own mostly stands for what all report
  const all = known ? metricsOf(known) : allMetrics({ rewarded: true, metrics: [] });
  const info = all.find(({ key }) => key === run.headline.key);
  return info === undefined
    ? { label: run.headline.key, text: metricFormat('')(value) }
    : { label: info.label, text: withUnit(info, value) };
}

/** What rows never trained on showed before and after; null where nothing was measured. */
export function heldOutOf({ algorithm, heldOut }: Pick<Run, 'algorithm' | 'heldOut'>) {
  const known = algorithmByKey(algorithm);
  if (heldOut.before === null || known === undefined) return null;
  const [info] = heldOutMetricsOf(dataKindOf(known));
  return { label: info.label, ...comparison(info, heldOut.before, heldOut.after) };
}

/** Two measures of one metric, and what changed between them ('' where one is missing). */
export function comparison(info: Pick<MetricInfo, 'unit'>, before: number | null, after: number | null) {
  const format = metricFormat(info.unit);
  const share = info.unit === '%';
  return {
    before: format(before),
    after: withUnit(info, after),
    change:
      before === null || after === null
        ? ''
        : share
          ? `${formatSigned((after - before) * 100, 1)}\u00a0pp`
          : formatSigned(after - before, 3),
  };
}

/** Other units than % are said with the label, if at all. */
function withUnit(info: Pick<MetricInfo, 'unit'>, value: number | null): string {
  const text = metricFormat(info.unit)(value);
  return info.unit === '%' && value !== null && !Number.isNaN(value) ? `${text}\u00a0%` : text;
}
