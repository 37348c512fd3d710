import { useMemo } from 'react';
import type { About } from '../../../../shared/algorithms';
import { Chart, type Mark } from '../../components/Chart';
import { Hover } from '../../components/hover';
import { metricFormat, shownUnit, tickFormat } from '../../components/metric-format';
import { bucketed, type Point } from '../../data/buckets';
import type { RunEvent, RunStore } from '../../data/run-store';
import { useSeriesVersion } from '../../data/runs';
import { chartsOf, type ChartSpec } from './boards';
import styles from './ChartBoard.module.css';

/** All charts of a run over the same steps, with one crosshair. */
export function ChartBoard({
  store,
  algorithm,
  steps,
  events,
  onPick,
}: {
  store: RunStore;
  algorithm: About | undefined;
  steps: number;
  events: readonly RunEvent[];
  onPick?: (step: number) => void;
}) {
  const version = useSeriesVersion(store);
  const hover = useMemo(() => new Hover(), []);
  const { series } = store;
  const keyList = series.keys.join(' ');
  const charts = useMemo(
    () => chartsOf(algorithm, keyList === '' ? [] : keyList.split(' ')),
    [algorithm, keyList],
  );
  const drawn = useMemo(
    () => charts.map((chart) => pointsOf(chart, store)),
    // a version stands for the series' content
    // eslint-disable-next-line react-hooks/exhaustive-deps
    [charts, store, version],
  );
  const marks = useMemo(
    (): Mark[] => events.map((event) => ({ step: event.step, level: event.level, label: event.message })),
    [events],
  );
  const first = series.length > 0 ? series.steps[0]! : 1;
  const last = series.length > 0 ? series.steps[series.length - 1]! : 1;
  // a young run's curve fills a fair part of its chart, and the axis does not move with every step
  const to = Math.max(first + 1, Math.min(steps, Math.max(last, niceEnd(last))));
  const domain = useMemo(() => [first, to] as const, [first, to]);

  return (
    <div className={styles.board}>
      {charts.map((chart, index) => (
        <Chart
          key={chart.key}
          title={chart.title}
          help={chart.help}
          unit={shownUnit(chart)}
          lines={chart.lines}
          {...(chart.spread === undefined ? {} : { band: ['low', 'high'] as const })}
          points={drawn[index]!}
          domain={domain}
          format={metricFormat(chart.unit)}
          formatTick={tickFormat(chart.unit)}
          hover={hover}
          valueAt={(key, step) => valueAt(store, key, step)}
          {...(index === 0 ? { marks } : {})}
          {...(onPick === undefined ? {} : { onPick })}
        />
      ))}
    </div>
  );
}

function pointsOf(chart: ChartSpec, { series }: RunStore): Point[] {
  const columns: Record<string, Float64Array | undefined> = Object.fromEntries(
    chart.lines.map((line) => [line.key, series.values(line.key)]),
  );
  const mean = chart.spread === undefined ? undefined : series.values(chart.lines[0]!.key);
  const spread = chart.spread === undefined ? undefined : series.values(chart.spread);
  if (mean !== undefined && spread !== undefined) {
    columns['low'] = mean.map((value, index) => value - spread[index]!);
    columns['high'] = mean.map((value, index) => value + spread[index]!);
  }
  return bucketed(series.steps, columns);
}

function valueAt({ series }: RunStore, key: string, step: number): number | null {
  const index = series.indexOf(step);
  if (index < 0) return null;
  const value = series.values(key)?.[index];
  return value === undefined || Number.isNaN(value) ? null : value;
}

/** The next of 10, 20, 50, 100, 200 ... at or above. */
function niceEnd(step: number): number {
  for (let size = 10; ; size *= 10) {
    for (const factor of [1, 2, 5]) if (size * factor >= step) return size * factor;
  }
}
