// Small multiples as SVG: for the pictures that benches and test:trl leave.
export interface Line {
  /** One a step from step 1; NaN: a gap. */
  values: readonly number[];
  color: string;
  width: number;
}

export interface Panel {
  title: string;
  /** Beneath the title. */
  note: string;
  /** Beneath the plot. */
  caption?: string;
  /** Beside the title, where something is wrong. */
  alarm?: string;
  lines: readonly Line[];
  /** Filled between two lines. */
  bands?: readonly { low: readonly number[]; high: readonly number[]; color: string }[];
  /** At a step. */
  dots?: readonly { step: number; value: number; color: string }[];
  /** Steps along the axis; default: of the longest line. */
  steps?: number;
  /** What is along the axis where it is no steps. */
  axis?: string;
}

export interface Picture {
  title: string;
  legend: readonly { text: string; color: string }[];
  columns: number;
  /** Of a panel's plot, pixels. */
  plot: { width: number; height: number };
  panels: readonly Panel[];
}

const FONT = 'font-family="system-ui, sans-serif"';
const TOP = 64;
const AROUND = { left: 44, right: 14, top: 40, bottom: 26 };

export function picture({ title, legend, columns, plot, panels }: Picture): string {
  const cell = {
    width: plot.width + AROUND.left + AROUND.right,
    height: plot.height + AROUND.top + AROUND.bottom,
  };
  const width = Math.min(columns, panels.length) * cell.width;
  const height = TOP + Math.ceil(panels.length / columns) * cell.height;
  let x = 12;
  const keys = legend.map(({ text: words, color }) => {
    const key = `<rect x="${x}" y="42" width="14" height="4" fill="${color}"/>${text(x + 19, 48, words, 11)}`;
    x += 40 + words.length * 6.2;
    return key;
  });
  const cells = panels.map((panel, k) => {
    const at = `${(k % columns) * cell.width + AROUND.left} ${TOP + Math.floor(k / columns) * cell.height + AROUND.top}`;
    return `<g transform="translate(${at})">${panelOf(panel, plot)}</g>`;
  });
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" ${FONT}>`,
    `<rect width="${width}" height="${height}" fill="#fff"/>`,
    text(12, 26, title, 16, 'font-weight="600"'),
    ...keys,
    ...cells,
    '</svg>\n',
  ].join('\n');
}

function panelOf(
  { title, note, caption = '', alarm, lines, bands = [], dots = [], steps, axis }: Panel,
  plot: Picture['plot'],
) {
  const last = steps ?? Math.max(1, ...lines.map(({ values }) => values.length));
  const all = [
    ...lines.flatMap(({ values }) => values),
    ...bands.flatMap(({ low, high }) => [...low, ...high]),
    ...dots.map(({ value }) => value),
  ].filter(Number.isFinite);
  const ticks = ticksOf(Math.min(...all), Math.max(...all));
  const [low, high] = [ticks[0]!, ticks.at(-1)!];
  const px = (step: number) => fix((step / last) * plot.width);
  const py = (value: number) => fix(plot.height - ((value - low) / (high - low)) * plot.height);
  const path = (values: readonly number[], from = 'M') =>
    values
      .map((value, k) => ({ value, k }))
      .filter(({ value }) => Number.isFinite(value))
      .map(({ value, k }, n) => `${n === 0 ? from : 'L'}${px(k + 1)} ${py(value)}`)
      .join('');
  const band = (b: { low: readonly number[]; high: readonly number[]; color: string }) => {
    const back = b.low
      .map((value, k) => `L${px(k + 1)} ${py(value)}`)
      .reverse()
      .join('');
    return `<path d="${path(b.high)}${back}Z" fill="${b.color}" fill-opacity="0.18"/>`;
  };
  return [
    text(0, -22, title, 12, 'font-weight="600"'),
    text(0, -8, note, 10, 'fill="#666"'),
    ...(alarm === undefined ? [] : [text(plot.width, -22, alarm, 10, 'fill="#c00" text-anchor="end"')]),
    ...ticks.map((value) => {
      const y = py(value);
      const grid = `<path d="M0 ${y}H${plot.width}" stroke="#e5e5e5"/>`;
      return grid + text(-5, y + 3.5, label(value), 9, 'fill="#666" text-anchor="end"');
    }),
    text(0, plot.height + 13, caption, 9, 'fill="#666"'),
    text(
      plot.width,
      axis ? plot.height + 13 : -8,
      axis ?? `${last} steps`,
      9,
      'fill="#666" text-anchor="end"',
    ),
    ...bands.map(band),
    ...lines.map(
      ({ values, color, width }) =>
        `<path d="${path(values)}" fill="none" stroke="${color}" stroke-width="${width}" stroke-linejoin="round"/>`,
    ),
    ...dots.map(
      ({ step, value, color }) => `<circle cx="${px(step)}" cy="${py(value)}" r="3" fill="${color}"/>`,
    ),
  ].join('');
}

/** Three to six round numbers that enclose all. */
function ticksOf(low: number, high: number): number[] {
  const span = high - low || Math.abs(high) || 1;
  const power = 10 ** Math.floor(Math.log10(span / 3));
  const step = [1, 2, 5, 10].map((by) => by * power).find((by) => span / by <= 4)!;
  const first = Math.floor(low / step + 1e-9);
  const count = Math.max(1, Math.ceil(high / step - 1e-9) - first);
  return Array.from({ length: count + 1 }, (_, k) => (first + k) * step);
}

const fix = (pixels: number) => Number(pixels.toFixed(1));
const label = (value: number) => String(Number(value.toPrecision(6)));
const ENTITIES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' };
const text = (x: number, y: number, words: string, size: number, more = '') =>
  `<text x="${x}" y="${y}" font-size="${size}" ${more}>${words.replaceAll(/[&<>]/g, (c) => ENTITIES[c]!)}</text>`;

/** Mean over lines, step by step, of the numbers that are there; then over a window of steps about each. */
export function meanLine(lines: readonly (readonly number[])[], window = 1): number[] {
  const mean = (values: number[]) => {
    const there = values.filter(Number.isFinite);
    return there.reduce((sum, value) => sum + value, 0) / there.length;
  };
  const steps = Math.max(...lines.map(({ length }) => length));
  const means = Array.from({ length: steps }, (_, k) => mean(lines.map((values) => values[k] ?? NaN)));
  const side = Math.floor(window / 2);
  return means.map((_, k) => mean(means.slice(Math.max(0, k - side), k + side + 1)));
}
