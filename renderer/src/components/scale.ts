/** Diverging blue (above) and orange (below) for advantages. */
export function diverging(value: number, size: number): string {
  const share = size > 0 ? Math.min(1, Math.abs(value) / size) : 0;
  return `color-mix(in oklab, var(${value >= 0 ? '--series-1' : '--series-2'}) ${Math.round(share * 100)}%, var(--n6))`;
}
