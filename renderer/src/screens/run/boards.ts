import { allMetrics, type About, type MetricInfo } from '../../../../shared/algorithms';
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
export function chartsOf(algorithm: About | undefined, present: readonly string[]): ChartSpec[] {
  const known = new Map(
    (algorithm === undefined ? [] : allMetrics(algorithm)).map((info) => [info.key, info]),
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
  const parts = present.filter((key) => isPart(key) && !known.has(key));
  const alone = (key: string): ChartSpec => {
    const info = infoOf(known, key);
    return { key, title: info.label, help: info.help, unit: info.unit, lines: [line(key, info.label, 0)] };
  };
  const rest = present.filter((key) => !placed.has(key) && !tableOnly.has(key) && !parts.includes(key));
  // the parts of the reward stand beside their sum
  return [...charts.slice(0, 1), ...parts.map(alone), ...charts.slice(1), ...rest.map(alone)];
}

export function infoOf(known: ReadonlyMap<string, MetricInfo>, key: string): MetricInfo {
  const found = known.get(key);
  if (found) return found;
  if (!isPart(key)) return { key, label: key, unit: '', help: '', better: null };
  const help = 'Mean of one part of the reward, before its weight, over the answers that it applies to.';
  return { key, label: `Reward: ${key.slice('reward/'.length)}`, unit: '', help, better: 'up' };
}

/** One of several rewards: the algorithm does not know their names. */
const isPart = (key: string) => key.startsWith('reward/');

function line(key: string, label: string, index: number): LineSpec {
  return { key, label, color: index === 0 ? 1 : 2, ...(index === 0 ? {} : { dash: '5 3' }) };
}
