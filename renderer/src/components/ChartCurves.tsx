import { memo } from 'react';
import { Area, CartesianGrid, ComposedChart, Line, XAxis, YAxis } from 'recharts';
import { axisTicks, valueTicks } from './axis';
import { formatCount } from './format';

/** Values by key at a step; where a point stands for several, `key:low` and `key:high` are their range. */
export type ChartPoint = { step: number } & Record<string, number | null>;

export interface LineSpec {
  key: string;
  label: string;
  /** 1 to 6: its place in the fixed order of series colours. */
  color: 1 | 2 | 3 | 4 | 5 | 6;
  /** Tells lines apart without colour. */
  dash?: string;
}

export const HEIGHT = 148;
/** Room for `−0.0025` and `−125 000`. */
export const LEFT = 54;
/** Room for half of the last step's label. */
export const RIGHT = 18;

interface CurvesProps {
  /** On screen. */
  visible: boolean;
  width: number;
  points: readonly ChartPoint[];
  lines: readonly LineSpec[];
  domain: readonly [number, number];
  band: readonly [string, string] | undefined;
  formatTick: (value: number) => string;
}

/** The drawn part of a chart. What is off screen keeps what it drew last. */
export const Curves = memo(
  Drawing,
  (before, after) =>
    !after.visible ||
    (Object.keys(after) as (keyof CurvesProps)[]).every((key) => Object.is(before[key], after[key])),
);

function Drawing({ width, points, lines, domain, band, formatTick }: CurvesProps) {
  const range = rangeOf(points, [...lines.map((line) => line.key), ...(band ?? [])]) ?? [0, 0];
  const ticks = valueTicks(range[0], range[1]);
  const several = points.length > 0 && `${lines[0]!.key}:low` in points[0]!;
  // a library's children may not be wrapped in a component of ours
  const between = (key: string, low: string, high: string, color: number, opacity: number) => (
    <Area
      key={`${key} between`}
      dataKey={(point: ChartPoint) => [point[low] ?? null, point[high] ?? null] as unknown as number}
      stroke="none"
      fill={`var(--series-${color})`}
      fillOpacity={opacity}
      isAnimationActive={false}
      activeDot={false}
      dot={false}
      connectNulls={false}
    />
  );
  return (
    <ComposedChart
      width={width}
      height={HEIGHT}
      data={points as ChartPoint[]}
      margin={{ top: 10, right: RIGHT, bottom: 0, left: 0 }}
      accessibilityLayer={false}
      aria-hidden
    >
      <CartesianGrid vertical={false} stroke="var(--grid)" />
      <XAxis
        dataKey="step"
        type="number"
        domain={[domain[0], domain[1]]}
        height={20}
        tickLine={false}
        axisLine={{ stroke: 'var(--n6)' }}
        ticks={axisTicks(domain[0], domain[1], Math.max(2, Math.floor(width / 70)))}
        tickFormatter={formatCount}
        interval={0}
      />
      <YAxis
        width={LEFT}
        domain={[ticks[0]!, ticks.at(-1)!]}
        ticks={ticks}
        interval={0}
        tickLine={false}
        axisLine={false}
        tickMargin={2}
        tickFormatter={formatTick}
      />
      {band !== undefined && points.length > 1 && between('band', band[0], band[1], lines[0]!.color, 0.15)}
      {several &&
        lines.map((line) => between(line.key, `${line.key}:low`, `${line.key}:high`, line.color, 0.22))}
      {lines.map((line) => (
        <Line
          key={line.key}
          dataKey={line.key}
          name={line.label}
          stroke={`var(--series-${line.color})`}
          strokeWidth={1.5}
          strokeDasharray={line.dash}
          dot={points.length === 1 ? { r: 2, fill: `var(--series-${line.color})` } : false}
          activeDot={false}
          isAnimationActive={false}
          connectNulls
          type="linear"
        />
      ))}
    </ComposedChart>
  );
}

/** Smallest and largest value of some keys, with what buckets hold; null where there is none. */
export function rangeOf(points: readonly ChartPoint[], keys: readonly string[]): [number, number] | null {
  let low = Infinity;
  let high = -Infinity;
  for (const point of points) {
    for (const key of keys) {
      low = Math.min(low, point[`${key}:low`] ?? point[key] ?? Infinity);
      high = Math.max(high, point[`${key}:high`] ?? point[key] ?? -Infinity);
    }
  }
  return low > high ? null : [low, high];
}
