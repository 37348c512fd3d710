/**
 * A sequential scale that reads the same with any colour vision: lightness alone carries it. 0..1 -> CSS colour
 * that is mixed from the theme, so that both themes keep low near the page and high away from it.
 */
export function heat(share: number): string {
  const percent = Math.round(12 + 88 * Math.min(1, Math.max(0, share)));
  return `color-mix(in oklch, var(--series-1) ${percent}%, var(--n3))`;
}

/** Diverging blue (above) and orange (below) for advantages. */
export function diverging(value: number, size: number): string {
  const share = size > 0 ? Math.min(1, Math.abs(value) / size) : 0;
  return `color-mix(in oklab, var(${value >= 0 ? '--series-1' : '--series-2'}) ${Math.round(share * 100)}%, var(--n6))`;
}
