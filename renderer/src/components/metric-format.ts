import type { MetricInfo } from '../../../shared/algorithms';
import { formatBytes, formatCount, formatNumber, formatRound, unknown } from './format';

/** How a metric's value is written, by its unit. Shares are shown as percent. */
export function metricFormat(unit: string): (value: number | null) => string {
  if (unit === '%')
    return (value) => (value === null || Number.isNaN(value) ? unknown : (value * 100).toFixed(1));
  if (unit === 'bytes') return formatBytes;
  if (unit === 'tokens/s' || unit === 'tokens')
    return (value) => (value !== null && Math.abs(value) >= 100 ? formatCount(value) : formatNumber(value));
  return formatNumber;
}

const percentTick = (value: number) => formatRound(value * 100);

/** The same on an axis, where values are round. */
export function tickFormat(unit: string): (value: number) => string {
  if (unit === '%') return percentTick;
  return unit === 'bytes' ? formatBytes : formatRound;
}

/** Unit to show after the number; bytes bring their own. */
export const shownUnit = (info: Pick<MetricInfo, 'unit'>) => (info.unit === 'bytes' ? '' : info.unit);
