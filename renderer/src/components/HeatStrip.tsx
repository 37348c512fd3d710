import { useCallback, useEffect, useMemo, useRef, type KeyboardEvent, type PointerEvent } from 'react';
import { formatNumber } from './format';
import { CELL, drawHeat, heatCells, PITCH, type Cell } from './heat-cells';
import { useSize } from './use-size';
import styles from './HeatStrip.module.css';

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
  const width = Math.max(1, steps.length * PITCH);
  const height = Math.max(1, rows * PITCH);
  const column = selected === null ? -1 : steps.indexOf(selected.step);

  const heat = useMemo(() => heatCells(cells), [cells]);
  const { ref, width: shown } = useSize();
  const attach = useCallback(
    (element: HTMLDivElement | null) => {
      scroller.current = element;
      return ref(element);
    },
    [ref],
  );
  useEffect(() => {
    const box = scroller.current!;
    let frame = 0;
    const draw = () => drawHeat(canvas.current!, heat, { left: box.scrollLeft, width: shown, height });
    const soon = () => {
      cancelAnimationFrame(frame);
      frame = requestAnimationFrame(draw);
    };
    draw();
    box.addEventListener('scroll', soon, { passive: true });
    const theme = new MutationObserver(draw);
    theme.observe(document.documentElement, { attributeFilter: ['data-theme'] });
    return () => {
      cancelAnimationFrame(frame);
      box.removeEventListener('scroll', soon);
      theme.disconnect();
    };
  }, [heat, shown, height]);

  useEffect(() => {
    const box = scroller.current;
    if (box === null || column < 0) return;
    const x = column * PITCH;
    if (x < box.scrollLeft || x + CELL > box.scrollLeft + box.clientWidth)
      box.scrollLeft = x - box.clientWidth / 2;
  }, [column, steps.length]);

  const pick = (event: PointerEvent<HTMLCanvasElement>) => {
    const box = event.currentTarget.getBoundingClientRect();
    const x = event.clientX - box.left + scroller.current!.scrollLeft;
    const step = steps[Math.floor(x / PITCH)];
    const row = Math.floor((event.clientY - box.top) / PITCH);
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
      ref={attach}
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
        <canvas ref={canvas} style={{ width: shown, height }} onPointerDown={pick} aria-hidden />
        {column >= 0 && (
          <span
            className={styles.column}
            style={{ left: column * PITCH - 1, width: CELL + 2, height: height + 1 }}
          />
        )}
        {column >= 0 && selected?.row != null && (
          <span
            className={styles.cell}
            style={{
              left: column * PITCH - 1,
              top: selected.row * PITCH - 1,
              width: CELL + 2,
              height: CELL + 2,
            }}
          />
        )}
      </div>
    </div>
  );
}
