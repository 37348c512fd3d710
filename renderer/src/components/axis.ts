/** Round steps between two steps, at most about `count` of them: 1, 2 or 5 times a power of ten apart. */
export function axisTicks(from: number, to: number, count: number): number[] {
  const rough = (to - from) / Math.max(1, count);
  const power = 10 ** Math.floor(Math.log10(Math.max(rough, 1)));
  const apart = Math.max(
    1,
    [1, 2, 5, 10].map((factor) => factor * power).find((size) => size >= rough) ?? 10 * power,
  );
  const ticks: number[] = [];
  for (let tick = Math.ceil(from / apart) * apart; tick <= to; tick += apart) ticks.push(tick);
  return ticks;
}

/** A tick's label without needless zeros: 40.00 is 40, 0.450 is 0.45. */
export function formatTick(text: string): string {
  return /^[−\d]*\.\d+$/.test(text) ? text.replace(/\.?0+$/, '') : text;
}
