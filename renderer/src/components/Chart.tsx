import { memo, useSyncExternalStore, type KeyboardEvent, type PointerEvent, type ReactNode } from 'react';
import { Area, CartesianGrid, ComposedChart, Line, XAxis, YAxis } from 'recharts';
import { axisTicks, formatTick } from './axis';
import { formatNumber } from './format';
import type { Hover } from './hover';
import { useSize } from './use-size';
import styles from './Chart.module.css';

export type ChartPoint = { step: number } & Record<string, number | null>;

export interface LineSpec {
  key: string;
  label: string;
  /** 1 to 6: its place in the fixed order of series colours. */
  color: 1 | 2 | 3 | 4 | 5 | 6;
  /** Tells lines apart without colour. */
  dash?: string;
}

export interface Mark {
  step: number;
  level: 'info' | 'warning' | 'error';
  label: string;
}

export interface ChartProps {
  title: string;
  help?: string;
  unit?: string;
  lines: readonly LineSpec[];
  /** Keys of the lower and upper edge of a band behind the first line. */
  band?: readonly [string, string];
  points: readonly ChartPoint[];
  domain: readonly [number, number];
  /** Fixed range of the values, where it has one. */
  range?: readonly [number, number];
  format?: (value: number | null) => string;
  hover: Hover;
  /** Value of a line at a step, from the full series. */
  valueAt: (key: string, step: number) => number | null;
  marks?: readonly Mark[];
  /** A point was chosen: click, or Enter on the crosshair. */
  onPick?: (step: number) => void;
  note?: ReactNode;
}

const HEIGHT = 148;
const LEFT = 46;
const RIGHT = 10;

/** One metric over the steps, with a crosshair shared by the board and a summary in words. */
export function Chart(props: ChartProps) {
  const { title, help, unit = '', lines, points, domain, hover, onPick } = props;
  const format = props.format ?? formatNumber;
  const { ref, width, visible } = useSize();
  const inner = Math.max(1, width - LEFT - RIGHT);
  const span = domain[1] - domain[0] || 1;
  const toX = (step: number) => LEFT + ((step - domain[0]) / span) * inner;
  const toStep = (x: number) => Math.round(domain[0] + ((x - LEFT) / inner) * span);
  const last = points.at(-1)?.step ?? domain[0];

  const move = (event: PointerEvent<HTMLDivElement>) => {
    const box = event.currentTarget.getBoundingClientRect();
    hover.set(Math.min(last, Math.max(domain[0], toStep(event.clientX - box.left))));
  };
  const keys = (event: KeyboardEvent) => {
    const at = hover.step() ?? last;
    const by = event.shiftKey ? 10 : 1;
    if (event.key === 'ArrowLeft') hover.set(Math.max(domain[0], at - by));
    else if (event.key === 'ArrowRight') hover.set(Math.min(last, at + by));
    else if (event.key === 'Escape') hover.set(null);
    else if (event.key === 'Enter' && onPick !== undefined) onPick(at);
    else return;
    event.preventDefault();
  };

  return (
    <figure className={styles.chart} ref={ref}>
      <figcaption className={styles.head}>
        <span className={styles.title} title={help}>
          {title}
          {unit !== '' && <span className={styles.unit}>{unit}</span>}
        </span>
        {props.note}
        <Readout lines={lines} hover={hover} valueAt={props.valueAt} format={format} last={last} />
      </figcaption>
      {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-element-interactions -- a group with a crosshair; the table view says the same without */}
      <div
        className={styles.plot}
        style={{ height: HEIGHT, cursor: onPick === undefined ? undefined : 'crosshair' }}
        role="group"
        tabIndex={0}
        aria-label={summary(props, format)}
        aria-roledescription="chart"
        onPointerMove={move}
        onPointerLeave={() => hover.set(null)}
        onClick={() => onPick?.(hover.step() ?? last)}
        onKeyDown={keys}
        onBlur={() => hover.set(null)}
      >
        {width > 0 && (
          <Drawing
            width={width}
            visible={visible}
            points={points}
            lines={lines}
            domain={domain}
            range={props.range}
            band={props.band}
            format={format}
          />
        )}
        {props.marks?.map((mark, index) => (
          <span
            key={index}
            className={styles.mark}
            data-level={mark.level}
            title={`Step ${mark.step}: ${mark.label}`}
            style={{ left: toX(mark.step) }}
          />
        ))}
        <Crosshair hover={hover} toX={toX} />
      </div>
    </figure>
  );
}

interface CurvesProps {
  /** On screen. */
  visible: boolean;
  width: number;
  points: readonly ChartPoint[];
  lines: readonly LineSpec[];
  domain: readonly [number, number];
  range: readonly [number, number] | undefined;
  band: readonly [string, string] | undefined;
  format: (value: number | null) => string;
}

const Drawing = memo(
  Curves,
  (before, after) =>
    // what is off screen keeps what it drew last
    !after.visible ||
    (Object.keys(after) as (keyof CurvesProps)[]).every((key) => Object.is(before[key], after[key])),
);

function Curves({ width, points, lines, domain, range, band, format }: CurvesProps) {
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
        ticks={axisTicks(domain[0], domain[1], Math.max(2, Math.floor(width / 90)))}
        interval={0}
      />
      <YAxis
        width={LEFT}
        domain={range === undefined ? flatRange(points, lines) : [range[0], range[1]]}
        tickLine={false}
        axisLine={false}
        tickCount={4}
        tickMargin={2}
        tickFormatter={(value: number) => formatTick(format(value))}
      />
      {band !== undefined && (
        <Area
          dataKey={(point: ChartPoint) =>
            [point[band[0]] ?? null, point[band[1]] ?? null] as unknown as number
          }
          stroke="none"
          fill={`var(--series-${lines[0]!.color})`}
          fillOpacity={0.15}
          isAnimationActive={false}
          activeDot={false}
          connectNulls={false}
        />
      )}
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

/** A curve that does not move gets an axis around it; the library would make one of its own size up. */
function flatRange(
  points: readonly ChartPoint[],
  lines: readonly LineSpec[],
): [number, number] | ['auto', 'auto'] {
  const values = lines
    .flatMap((line) => points.map((point) => point[line.key]))
    .filter((value) => typeof value === 'number');
  const low = Math.min(...values);
  if (values.length === 0 || low !== Math.max(...values)) return ['auto', 'auto'];
  return low === 0 ? [0, 0.03] : low > 0 ? [0, 2 * low] : [2 * low, 0];
}

function Crosshair({ hover, toX }: { hover: Hover; toX: (step: number) => number }) {
  const step = useSyncExternalStore(hover.subscribe, hover.step);
  if (step === null) return null;
  const x = toX(step);
  return (
    <>
      <span className={styles.crosshair} style={{ left: x }} />
      <span className={styles.step} style={{ left: x }}>
        {step}
      </span>
    </>
  );
}

function Readout({
  lines,
  hover,
  valueAt,
  format,
  last,
}: {
  lines: readonly LineSpec[];
  hover: Hover;
  valueAt: (key: string, step: number) => number | null;
  format: (value: number | null) => string;
  last: number;
}) {
  const step = useSyncExternalStore(hover.subscribe, hover.step) ?? last;
  return (
    <span className={styles.readout}>
      {lines.map((line) => (
        <span key={line.key} className={styles.value}>
          {lines.length > 1 && (
            <>
              <svg width="14" height="6" aria-hidden>
                <line
                  x1="0"
                  x2="14"
                  y1="3"
                  y2="3"
                  stroke={`var(--series-${line.color})`}
                  strokeWidth="2"
                  strokeDasharray={line.dash}
                />
              </svg>
              <span className={styles.name}>{line.label}</span>
            </>
          )}
          <span className={styles.number}>{format(valueAt(line.key, step))}</span>
        </span>
      ))}
    </span>
  );
}

/** The curve in words, for those who do not see it. */
function summary(
  { title, lines, points, valueAt, onPick }: ChartProps,
  format: (value: number | null) => string,
): string {
  if (points.length === 0) return `${title}: no data yet`;
  const first = points[0]!.step;
  const last = points.at(-1)!.step;
  const parts = lines.map((line) => {
    const values = points
      .map((point) => point[line.key])
      .filter((value): value is number => typeof value === 'number');
    if (values.length === 0) return `${line.label} without values`;
    return (
      `${lines.length > 1 ? `${line.label} ` : ''}from ${format(valueAt(line.key, first))} to ` +
      `${format(valueAt(line.key, last))}, lowest ${format(Math.min(...values))}, highest ${format(Math.max(...values))}`
    );
  });
  const how = onPick === undefined ? '' : ' Arrow keys move, Enter opens the rollouts.';
  return `${title}, steps ${first} to ${last}: ${parts.join('; ')}.${how}`;
}
