import { metricsOf, type Algorithm, type MetricInfo } from '../../../../shared/algorithms';
import type { LineSpec } from '../../components/ChartCurves';

export interface ChartSpec {
  key: string;
  title: string;
  help: string;
  unit: string;
  lines: LineSpec[];
  /** Key of the standard deviation around the first line. */
  spread?: string;
}

/** Metrics that are read together share a chart; a metric's place here is its place on the board. */
const together: readonly {
  title?: string;
  keys: readonly string[];
  spread?: string;
  labels?: readonly string[];
}[] = [
  { keys: ['reward/mean'], spread: 'reward/std', title: 'Reward, mean ± spread' },
  { keys: ['preference/accuracy'] },
  { keys: ['preference/margin'] },
  {
    keys: ['preference/chosen', 'preference/rejected'],
    title: 'Implicit reward',
    labels: ['good', 'bad'],
  },
  { keys: ['train/nll'] },
  { keys: ['train/probability'] },
  { keys: ['rollout/length'] },
  { keys: ['reward/zero_variance'] },
  { keys: ['policy/entropy'] },
  { keys: ['policy/kl'] },
  { keys: ['policy/kl_baseline'] },
  { keys: ['policy/clip_low', 'policy/clip_high'], title: 'Clip share', labels: ['below', 'above'] },
  { keys: ['rollout/truncated'] },
  {
    keys: ['perf/rollout_tokens_per_s', 'perf/train_tokens_per_s'],
    title: 'Speed',
    labels: ['sampling', 'training'],
  },
  { keys: ['perf/step_seconds'] },
  { keys: ['train/grad_norm'] },
];

/** Shown in the table only: constants and what a chart would not help to see. */
const tableOnly = new Set([
  'train/lr',
  'train/tokens',
  'reward/std',
  'reward/dropped_groups',
  'train/loss',
  'perf/peak_bytes',
]);

/** The charts of a run: those of its algorithm's metrics that have come at least once. */
export function chartsOf(algorithm: Algorithm | undefined, present: readonly string[]): ChartSpec[] {
  const known = new Map(
    (algorithm === undefined ? [] : metricsOf(algorithm)).map((info) => [info.key, info]),
  );
  const have = new Set(present);
  const charts: ChartSpec[] = [];
  const placed = new Set<string>();
  for (const place of together) {
    const keys = place.keys.filter((key) => have.has(key));
    if (keys.length === 0) continue;
    keys.forEach((key) => placed.add(key));
    const first = infoOf(known, keys[0]!);
    charts.push({
      key: keys[0]!,
      title: place.title ?? first.label,
      help: keys.map((key) => infoOf(known, key).help).join(' '),
      unit: first.unit,
      lines: keys.map((key, index) =>
        line(key, place.labels?.[place.keys.indexOf(key)] ?? infoOf(known, key).label, index),
      ),
      ...(place.spread !== undefined && have.has(place.spread) ? { spread: place.spread } : {}),
    });
  }
  for (const key of present) {
    if (placed.has(key) || tableOnly.has(key)) continue;
    const info = infoOf(known, key);
    charts.push({
      key,
      title: info.label,
      help: info.help,
      unit: info.unit,
      lines: [line(key, info.label, 0)],
    });
  }
  return charts;
}

export function infoOf(known: ReadonlyMap<string, MetricInfo>, key: string): MetricInfo {
  return known.get(key) ?? { key, label: key, unit: '', help: '', better: null };
}

function line(key: string, label: string, index: number): LineSpec {
  return { key, label, color: index === 0 ? 1 : 2, ...(index === 0 ? {} : { dash: '5 3' }) };
}
