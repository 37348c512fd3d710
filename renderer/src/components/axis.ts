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

/**
 * Round values around a range, the first at or below its lowest and the last at or above its highest: three to six,
 * 1, 2, 2.5, 4 or 5 times a power of ten apart. A range of one value gets room around it.
 */
export function valueTicks(lowest: number, highest: number): number[] {
  const flat = lowest === highest;
  const low = flat ? Math.min(0, 2 * lowest) : lowest;
  const high = flat ? Math.max(0, 2 * highest) || (lowest === 0 ? 0.03 : 0) : highest;
  const rough = (high - low) / 4;
  const power = 10 ** Math.floor(Math.log10(rough));
  const apart = [1, 2, 2.5, 4, 5, 10].map((factor) => factor * power).find((size) => size >= rough * 0.999)!;
  const first = Math.floor(low / apart + 1e-9);
  const last = Math.ceil(high / apart - 1e-9);
  return Array.from(
    { length: last - first + 1 },
    (_, index) => Number(((first + index) * apart).toPrecision(12)) + 0,
  );
}
