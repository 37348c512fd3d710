import { useSyncExternalStore, type KeyboardEvent, type PointerEvent } from 'react';
import { Curves, HEIGHT, LEFT, rangeOf, RIGHT, type ChartPoint, type LineSpec } from './ChartCurves';
import { formatCount } from './format';
import type { Hover } from './hover';
import { useSize } from './use-size';
import styles from './Chart.module.css';

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
  format: (value: number | null) => string;
  formatTick: (value: number) => string;
  hover: Hover;
  /** Value of a line at a step, from the full series. */
  valueAt: (key: string, step: number) => number | null;
  marks?: readonly Mark[];
  /** A point was chosen: click, or Enter on the crosshair. */
  onPick?: (step: number) => void;
}

/** One metric over the steps, with a crosshair shared by the board and a summary in words. */
export function Chart(props: ChartProps) {
  const { title, help, unit = '', lines, points, domain, hover, format, onPick } = props;
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
        <Readout lines={lines} hover={hover} valueAt={props.valueAt} format={format} last={last} />
      </figcaption>
      {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-element-interactions -- a group with a crosshair; the table view says the same without */}
      <div
        className={styles.plot}
        style={{ height: HEIGHT, cursor: onPick === undefined ? undefined : 'crosshair' }}
        role="group"
        tabIndex={0}
        aria-label={summary(props)}
        aria-roledescription="chart"
        onPointerMove={move}
        onPointerLeave={() => hover.set(null)}
        onClick={() => onPick?.(hover.step() ?? last)}
        onKeyDown={keys}
        onBlur={() => hover.set(null)}
      >
        {width > 0 && (
          <Curves
            width={width}
            visible={visible}
            points={points}
            lines={lines}
            domain={domain}
            band={props.band}
            formatTick={props.formatTick}
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

function Crosshair({ hover, toX }: { hover: Hover; toX: (step: number) => number }) {
  const step = useSyncExternalStore(hover.subscribe, hover.step);
  if (step === null) return null;
  const x = toX(step);
  return (
    <>
      <span className={styles.crosshair} style={{ left: x }} />
      <span className={styles.step} style={{ left: x }}>
        {formatCount(step)}
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
function summary({ title, lines, points, valueAt, format, onPick }: ChartProps): string {
  if (points.length === 0) return `${title}: no data yet`;
  const first = points[0]!.step;
  const last = points.at(-1)!.step;
  const parts = lines.map((line) => {
    const range = rangeOf(points, [line.key]);
    if (range === null) return `${line.label} without values`;
    return (
      `${lines.length > 1 ? `${line.label} ` : ''}from ${format(valueAt(line.key, first))} to ` +
      `${format(valueAt(line.key, last))}, lowest ${format(range[0])}, highest ${format(range[1])}`
    );
  });
  const how = onPick === undefined ? '' : ' Arrow keys move, Enter opens the rollouts.';
  return `${title}, steps ${first} to ${last}: ${parts.join('; ')}.${how}`;
}
