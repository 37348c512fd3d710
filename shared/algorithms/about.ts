import type { Algorithm, MetricInfo, Needs } from './algorithm';
import { fields, type Field } from './fields';
import { COMMON_METRICS, ROLLOUT_METRICS } from './metrics';

/** What a form, a list and a chart have to know of an algorithm: plain data, also of one that is not ours. */
export interface About {
  key: string;
  label: string;
  help: string;
  source: 'built-in' | 'user';
  data: Needs['data'];
  /** It learns from rewards. */
  rewarded: boolean;
  /** It learns from a teacher that the configuration names; absent: no. */
  taught?: boolean | undefined;
  /** What it trains scores texts, and does not write them: a reward model; absent: no. */
  scalarHead?: boolean | undefined;
  fields: Field[];
  /** Its own; `allMetrics` adds what every run reports. */
  metrics: MetricInfo[];
  headline: string;
}

export function aboutOf(algorithm: Algorithm): About {
  const { key, label, help, metrics, headline, params } = algorithm;
  // of its default settings: the same for all
  const { data, roles, scalarHead } = algorithm.needs(params.parse({}));
  return {
    key,
    label,
    help,
    source: 'built-in',
    data,
    rewarded: algorithm.advantages !== undefined,
    ...(roles.includes('teacher') && { taught: true }),
    ...(scalarHead && { scalarHead: true }),
    fields: fields(algorithm),
    metrics,
    headline,
  };
}

/** Everything a run of the algorithm reports, by key once. */
export function allMetrics({ rewarded, metrics }: Pick<About, 'rewarded' | 'metrics'>): MetricInfo[] {
  const shared = rewarded ? [...ROLLOUT_METRICS, ...COMMON_METRICS] : COMMON_METRICS;
  const known = new Set(shared.map(({ key }) => key));
  return [...shared, ...metrics.filter(({ key }) => !known.has(key))];
}
