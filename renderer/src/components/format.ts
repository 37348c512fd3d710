/** Numbers as an instrument shows them: digits by magnitude, unit always shown, a dash for what is not known. */
export const unknown = '–';

const minus = (text: string) => text.replaceAll('-', '−');

/** A metric's value with about four significant digits, so that a column keeps its width. */
export function formatNumber(value: number | null | undefined): string {
  if (value === null || value === undefined) return unknown;
  if (Number.isNaN(value)) return 'NaN';
  if (!Number.isFinite(value)) return value > 0 ? '∞' : '−∞';
  const size = Math.abs(value);
  if (size === 0) return '0';
  if (size < 1e-3 || size >= 1e6) return minus(value.toExponential(1));
  if (size < 10) return minus(value.toFixed(3));
  if (size < 100) return minus(value.toFixed(2));
  if (size < 1000) return minus(value.toFixed(1));
  return formatCount(value);
}

/** A round number, as on an axis: without needless zeros. */
export function formatRound(value: number): string {
  const size = Math.abs(value);
  if (size >= 1e6 || (size > 0 && size < 1e-3)) return minus(value.toExponential().replace('+', ''));
  return size >= 1000 ? formatCount(value) : minus(String(Number(value.toPrecision(6))));
}

export function formatFixed(value: number | null | undefined, digits: number): string {
  if (value === null || value === undefined || Number.isNaN(value)) return unknown;
  return minus(value.toFixed(digits));
}

/** With a sign, for advantages and differences. */
export function formatSigned(value: number | null | undefined, digits = 2): string {
  if (value === null || value === undefined || Number.isNaN(value)) return unknown;
  const text = minus(value.toFixed(digits));
  return value > 0 ? `+${text}` : text;
}

export function formatCount(value: number | null | undefined): string {
  if (value === null || value === undefined || Number.isNaN(value)) return unknown;
  return minus(Math.round(value).toLocaleString('en-US')).replace(/,/g, '\u202f');
}

/** 1.2 M, 348 M, 7.6 B. */
export function formatParameters(value: number | null | undefined): string {
  if (value === null || value === undefined) return unknown;
  for (const [size, unit] of [
    [1e9, 'B'],
    [1e6, 'M'],
    [1e3, 'k'],
  ] as const) {
    if (value >= size)
      return `${(value / size).toFixed(value / size < 10 ? 2 : value / size < 100 ? 1 : 0)} ${unit}`;
  }
  return String(value);
}

export function formatBytes(value: number | null | undefined): string {
  if (value === null || value === undefined || Number.isNaN(value)) return unknown;
  const units = ['B', 'KB', 'MB', 'GB', 'TB'];
  let size = value;
  let unit = 0;
  while (size >= 1000 && unit < units.length - 1) {
    size /= 1000;
    unit += 1;
  }
  const digits = unit === 0 || size >= 100 ? 0 : size >= 10 ? 1 : 2;
  return `${size.toFixed(digits)} ${units[unit]}`;
}

export function formatPercent(share: number | null | undefined, digits = 0): string {
  if (share === null || share === undefined || Number.isNaN(share)) return unknown;
  return `${minus((share * 100).toFixed(digits))} %`;
}

/** 42 s, 3 min 05 s, 2 h 10 min, 3 d 4 h. */
export function formatDuration(seconds: number | null | undefined): string {
  if (seconds === null || seconds === undefined || !Number.isFinite(seconds)) return unknown;
  if (seconds < 1) return `${Math.max(0, seconds).toFixed(seconds < 0.1 ? 2 : 1)} s`;
  const whole = Math.round(seconds);
  if (whole < 60) return `${seconds < 10 ? seconds.toFixed(1) : whole} s`;
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${String(whole % 60).padStart(2, '0')} s`;
  const minutes = Math.round(whole / 60);
  if (minutes < 48 * 60) return `${Math.floor(minutes / 60)} h ${String(minutes % 60).padStart(2, '0')} min`;
  const hours = Math.round(minutes / 60);
  return `${Math.floor(hours / 24)} d ${hours % 24} h`;
}

export function formatMilliseconds(value: number | null | undefined): string {
  if (value === null || value === undefined) return unknown;
  return value < 10
    ? `${value.toFixed(1)} ms`
    : value < 1000
      ? `${Math.round(value)} ms`
      : `${(value / 1000).toFixed(1)} s`;
}

/** 0.04 ms, 3.1 ms, 185 ms, 2.04 s, 3 min 05 s. */
export function formatMicroseconds(value: number): string {
  if (value === 0) return '0 ms';
  if (value < 1000) return `${(value / 1000).toFixed(2)} ms`;
  if (value < 1_000_000) return formatMilliseconds(value / 1000);
  return value < 10_000_000 ? `${(value / 1_000_000).toFixed(2)} s` : formatDuration(value / 1_000_000);
}

/** A round time on an axis of so many microseconds. */
export function microsecondTick(value: number, length: number): string {
  if (value === 0) return '0';
  const [size, unit] = length < 1_000_000 ? [1000, 'ms'] : [1_000_000, 's'];
  return `${formatRound(value / size)} ${unit}`;
}

/** "just now", "4 min ago", "yesterday", then the date. */
export function formatRelative(at: number, now: number): string {
  const seconds = (now - at) / 1000;
  if (seconds < 45) return 'just now';
  if (seconds < 3600) return `${Math.max(1, Math.round(seconds / 60))} min ago`;
  if (seconds < 86_400) return `${Math.round(seconds / 3600)} h ago`;
  if (seconds < 172_800) return 'yesterday';
  if (seconds < 7 * 86_400) return `${Math.round(seconds / 86_400)} d ago`;
  return new Date(at).toLocaleDateString('en-GB', { day: 'numeric', month: 'short', year: 'numeric' });
}

export function formatAbsolute(at: number): string {
  return new Date(at).toLocaleString('en-GB', { dateStyle: 'medium', timeStyle: 'medium' });
}

export function plural(count: number, one: string, many = `${one}s`): string {
  return `${formatCount(count)} ${count === 1 ? one : many}`;
}
