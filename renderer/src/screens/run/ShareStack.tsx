import type { KeyboardEvent, PointerEvent } from 'react';
import { axisTicks } from '../../components/axis';
import { formatCount, formatPercent, plural } from '../../components/format';
import { useSize } from '../../components/use-size';
import styles from './ShareStack.module.css';
import { PARTS, type Column } from './time-shares';

const HEIGHT = 132;
const LEFT = 44;
const WIDEST = 28;

/** Steps side by side: what each one's time went to, of 100 %. */
export function ShareStack({
  columns,
  selected,
  onPick,
  onMove,
}: {
  columns: readonly Column[];
  selected: number | undefined;
  onPick: (step: number) => void;
  onMove: (by: -1 | 1) => void;
}) {
  const { ref, width } = useSize();
  const each = Math.min(WIDEST, Math.max(0, width - LEFT) / columns.length);
  const gap = each > 6 ? 1 : 0;
  const chosen = columns.findIndex(
    ({ first, last }) => selected !== undefined && first <= selected && selected <= last,
  );
  const pick = (event: PointerEvent<SVGSVGElement>) => {
    const x = event.clientX - event.currentTarget.getBoundingClientRect().left;
    const column = columns[Math.floor(x / each)];
    if (column !== undefined) onPick(column.last);
  };
  const keys = (event: KeyboardEvent) => {
    if (event.key === 'ArrowLeft') onMove(-1);
    else if (event.key === 'ArrowRight') onMove(1);
    else return;
    event.preventDefault();
  };
  const used = PARTS.map((part, k) => ({ ...part, k })).filter(({ k }) =>
    columns.some(({ shares }) => shares[k]! > 0),
  );
  const ticks = axisTicks(columns[0]!.first, columns.at(-1)!.last, Math.max(1, (each * columns.length) / 80));
  const columnAt = (step: number) => columns.findIndex(({ last }) => step <= last);
  return (
    <div className={styles.stack}>
      {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-element-interactions -- keys only move the choice; the stepper does the same */}
      <div
        ref={ref}
        className={styles.plot}
        role="group"
        tabIndex={0}
        aria-label={summary(columns)}
        aria-roledescription="chart"
        style={{ height: HEIGHT }}
        onKeyDown={keys}
      >
        {[1, 0.5, 0].map((share) => (
          <span key={share} className={styles.tick} style={{ top: (1 - share) * HEIGHT }} aria-hidden>
            {formatPercent(share)}
          </span>
        ))}
        {width > 0 && (
          <svg
            width={each * columns.length}
            height={HEIGHT}
            style={{ left: LEFT }}
            onPointerDown={pick}
            aria-hidden
          >
            <defs>
              {PARTS.filter(({ idle }) => idle).map(({ part }) => (
                <pattern
                  key={part}
                  id={`hatch-${part}`}
                  width="5"
                  height="5"
                  patternUnits="userSpaceOnUse"
                  patternTransform="rotate(45)"
                >
                  <rect width="5" height="5" className={styles.ground} />
                  <rect width="2" height="5" className={styles.line} data-part={part} />
                </pattern>
              ))}
            </defs>
            {used.map(({ part, k, idle }) => (
              <path
                key={part}
                d={columns.map(({ shares }, at) => rectangle(shares, k, at * each, each - gap)).join('')}
                className={styles.part}
                data-part={part}
                {...(idle ? { style: { fill: `url(#hatch-${part})` } } : {})}
              />
            ))}
          </svg>
        )}
        {chosen >= 0 && (
          <span
            className={styles.chosen}
            style={{ left: LEFT + chosen * each - 1, width: Math.max(3, each - gap + 2) }}
            aria-hidden
          />
        )}
      </div>
      <div className={styles.axis} style={{ marginLeft: LEFT }} aria-hidden>
        {ticks.map((tick) => (
          <span key={tick} style={{ left: (columnAt(tick) + 0.5) * each }}>
            {formatCount(tick)}
          </span>
        ))}
      </div>
    </div>
  );
}

function rectangle(shares: readonly number[], k: number, x: number, width: number): string {
  const below = shares.slice(0, k).reduce((sum, share) => sum + share, 0);
  const height = shares[k]! * HEIGHT;
  if (height === 0) return '';
  const y = (1 - below) * HEIGHT - height;
  return `M${x.toFixed(2)} ${y.toFixed(2)}h${width.toFixed(2)}v${height.toFixed(2)}h${(-width).toFixed(2)}z`;
}

function summary(columns: readonly Column[]): string {
  const last = columns.at(-1)!;
  const told = PARTS.flatMap(({ label }, k) =>
    last.shares[k]! >= 0.005 ? [`${label} ${formatPercent(last.shares[k], 1)}`] : [],
  );
  return `Share of the time of steps ${columns[0]!.first} to ${last.last}, in ${plural(columns.length, 'column')}. Last: ${told.join(', ')}. Arrow keys choose a step.`;
}
