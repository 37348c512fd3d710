/** Lines forwarded and differentiated at once, padded to one length: what decides the memory of an update. */
export interface MicroBatch {
  lines: number;
  /** Tokens of a line. */
  length: number;
}

/** Lines that rows are packed on, as the engine does (native/src/train/pack.h): longest first, where it fits best. */
export function packedLines(lengths: readonly number[], capacity: number): MicroBatch {
  const room: number[] = [];
  for (const tokens of lengths.toSorted((a, b) => b - a)) {
    let best = -1;
    for (const [k, left] of room.entries()) if (left >= tokens && (best < 0 || left < room[best]!)) best = k;
    if (best < 0) room.push(Math.max(0, capacity - tokens));
    else room[best]! -= tokens;
  }
  return { lines: room.length, length: Math.max(...lengths, capacity - Math.min(...room)) };
}

/** Lines of an update. */
export interface UpdateLines extends MicroBatch {
  /** Lines that stay together: 2 for pairs. */
  unit: number;
}

/** The largest micro-batch of an update, as the engine plans it (native/src/train/rows.cpp), and whether others follow. */
export function largestMicroBatch(
  { lines, length, unit }: UpdateLines,
  microTokens: number,
): MicroBatch & { several: boolean } {
  const units = Math.max(1, Math.floor(microTokens / (unit * Math.max(1, length))));
  const fit = Math.min(lines, units * unit);
  return { lines: fit, length, several: lines > fit };
}
