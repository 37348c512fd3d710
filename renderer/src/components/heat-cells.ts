export interface Cell {
  step: number;
  /** Place within its step, 0 at the top. */
  row: number;
  value: number | null;
  /** All rollouts of the group got the same reward: nothing to learn. */
  flat: boolean;
}

export const CELL = 11;
/** From one cell to the next, in CSS pixels. */
export const PITCH = 12;

/** Cells in order of their steps, with what drawing any part of them needs. */
export interface HeatCells {
  cells: readonly Cell[];
  /** Index of each column's first cell, and the number of cells after the last. */
  starts: readonly number[];
  low: number;
  span: number;
}

export function heatCells(cells: readonly Cell[]): HeatCells {
  const starts: number[] = [];
  let low = 0;
  let high = 0;
  cells.forEach((cell, index) => {
    if (cells[index - 1]?.step !== cell.step) starts.push(index);
    low = Math.min(low, cell.value ?? 0);
    high = Math.max(high, cell.value ?? 0);
  });
  starts.push(cells.length);
  return { cells, starts, low, span: Math.max(1e-9, high - low) };
}

/** Draws what lies between `left` and `left + width` of the whole strip: a canvas as wide as a long run has a limit. */
export function drawHeat(
  canvas: HTMLCanvasElement,
  { cells, starts, low, span }: HeatCells,
  { left, width, height }: { left: number; width: number; height: number },
): void {
  const context = canvas.getContext('2d');
  if (context === null) return;
  const ratio = window.devicePixelRatio || 1;
  canvas.width = Math.ceil(width * ratio);
  canvas.height = Math.ceil(height * ratio);
  context.setTransform(ratio, 0, 0, ratio, -left * ratio, 0);
  const style = getComputedStyle(document.documentElement);
  const empty = style.getPropertyValue('--n4');
  const full = style.getPropertyValue('--series-1');
  const inks = [style.getPropertyValue('--n11'), style.getPropertyValue('--n1')] as const;
  const end = Math.min(starts.length - 1, Math.ceil((left + width) / PITCH));
  for (let column = Math.max(0, Math.floor(left / PITCH)); column < end; column += 1) {
    for (let index = starts[column]!; index < starts[column + 1]!; index += 1) {
      const cell = cells[index]!;
      const x = column * PITCH;
      const y = cell.row * PITCH;
      const share = ((cell.value ?? low) - low) / span;
      context.fillStyle = empty;
      context.fillRect(x, y, CELL, CELL);
      if (cell.value !== null) {
        context.globalAlpha = share;
        context.fillStyle = full;
        context.fillRect(x, y, CELL, CELL);
        context.globalAlpha = 1;
      }
      if (cell.flat) {
        context.fillStyle = inks[share > 0.5 ? 1 : 0];
        context.fillRect(x + CELL / 2 - 1, y + CELL / 2 - 1, 2, 2);
      }
    }
  }
}
