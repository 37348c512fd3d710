import { useEffect, useRef, type KeyboardEvent, type PointerEvent } from 'react';
import { formatNumber } from './format';
import styles from './HeatStrip.module.css';

export interface Cell {
  step: number;
  /** Place within its step, 0 at the top. */
  row: number;
  value: number | null;
  /** All rollouts of the group got the same reward: nothing to learn. */
  flat: boolean;
}

const CELL = 11;
const GAP = 1;

/** Step by prompt: how each group was rewarded. Dark is low, bright is high, a dot means all alike. */
export function HeatStrip({
  cells,
  rows,
  steps,
  selected,
  onSelect,
}: {
  cells: readonly Cell[];
  rows: number;
  /** Steps in order, one a column. */
  steps: readonly number[];
  selected: { step: number; row: number | null } | null;
  onSelect: (step: number, row: number) => void;
}) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const scroller = useRef<HTMLDivElement>(null);
  const width = Math.max(1, steps.length * (CELL + GAP));
  const height = Math.max(1, rows * (CELL + GAP));
  const column = selected === null ? -1 : steps.indexOf(selected.step);

  useEffect(() => {
    const element = canvas.current;
    const context = element?.getContext('2d');
    if (element === null || context == null) return;
    draw(element, context, cells, steps, width, height);
    const theme = new MutationObserver(() => draw(element, context, cells, steps, width, height));
    theme.observe(document.documentElement, { attributeFilter: ['data-theme'] });
    return () => theme.disconnect();
  }, [cells, steps, width, height]);

  useEffect(() => {
    const box = scroller.current;
    if (box === null || column < 0) return;
    const x = column * (CELL + GAP);
    if (x < box.scrollLeft || x + CELL > box.scrollLeft + box.clientWidth)
      box.scrollLeft = x - box.clientWidth / 2;
  }, [column, steps.length]);

  const pick = (event: PointerEvent<HTMLCanvasElement>) => {
    const box = event.currentTarget.getBoundingClientRect();
    const step = steps[Math.floor((event.clientX - box.left) / (CELL + GAP))];
    const row = Math.floor((event.clientY - box.top) / (CELL + GAP));
    if (step !== undefined && row >= 0 && row < rows) onSelect(step, row);
  };
  const keys = (event: KeyboardEvent) => {
    const row = selected?.row ?? 0;
    const at = column < 0 ? steps.length - 1 : column;
    const moves: Record<string, [number, number]> = {
      ArrowLeft: [at - 1, row],
      ArrowRight: [at + 1, row],
      ArrowUp: [at, row - 1],
      ArrowDown: [at, row + 1],
    };
    const move = moves[event.key];
    const step = move === undefined ? undefined : steps[move[0]];
    if (move === undefined || step === undefined || move[1] < 0 || move[1] >= rows) return;
    event.preventDefault();
    onSelect(step, move[1]);
  };
  const current = cells.find((cell) => cell.step === selected?.step && cell.row === selected.row);
  return (
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-element-interactions -- keys only move the choice; the stepper and list do the same
    <div
      ref={scroller}
      className={styles.scroller}
      role="group"
      tabIndex={0}
      aria-label={`Groups by step, ${steps.length} steps. Arrow keys move.${
        current === undefined
          ? ''
          : ` Step ${current.step}, group ${current.row + 1}, mean reward ${formatNumber(current.value)}`
      }`}
      onKeyDown={keys}
    >
      <div className={styles.sheet} style={{ width, height }}>
        <canvas ref={canvas} style={{ width, height }} onPointerDown={pick} aria-hidden />
        {column >= 0 && (
          <span
            className={styles.column}
            style={{ left: column * (CELL + GAP) - 1, width: CELL + 2, height: height + 1 }}
          />
        )}
        {column >= 0 && selected?.row != null && (
          <span
            className={styles.cell}
            style={{
              left: column * (CELL + GAP) - 1,
              top: selected.row * (CELL + GAP) - 1,
              width: CELL + 2,
              height: CELL + 2,
            }}
          />
        )}
      </div>
    </div>
  );
}

function draw(
  element: HTMLCanvasElement,
  context: CanvasRenderingContext2D,
  cells: readonly Cell[],
  steps: readonly number[],
  width: number,
  height: number,
): void {
  const ratio = window.devicePixelRatio || 1;
  element.width = width * ratio;
  element.height = height * ratio;
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  const style = getComputedStyle(document.documentElement);
  const low = style.getPropertyValue('--n4');
  const high = style.getPropertyValue('--series-1');
  const ink = style.getPropertyValue('--n11');
  const known = cells.map((cell) => cell.value).filter((value): value is number => value !== null);
  const from = Math.min(0, ...known);
  const span = Math.max(1e-9, Math.max(...known, 0) - from);
  const columns = new Map(steps.map((step, index) => [step, index]));
  for (const cell of cells) {
    const at = columns.get(cell.step);
    if (at === undefined) continue;
    const x = at * (CELL + GAP);
    const y = cell.row * (CELL + GAP);
    context.globalAlpha = 1;
    context.fillStyle = low;
    context.fillRect(x, y, CELL, CELL);
    if (cell.value !== null) {
      context.globalAlpha = (cell.value - from) / span;
      context.fillStyle = high;
      context.fillRect(x, y, CELL, CELL);
      context.globalAlpha = 1;
    }
    if (cell.flat) {
      context.fillStyle = (cell.value ?? 0) - from > span / 2 ? style.getPropertyValue('--n1') : ink;
      context.fillRect(x + CELL / 2 - 1, y + CELL / 2 - 1, 2, 2);
    }
  }
}
