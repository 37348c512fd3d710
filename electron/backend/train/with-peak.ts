import type { Engine } from '../../../native/face';

/** Bytes that some work takes at its peak, above what is in memory before it. */
export async function withPeak<T>(
  engine: Pick<Engine, 'resetPeak' | 'stats'>,
  work: () => Promise<T>,
): Promise<{ result: T; bytes: number }> {
  await engine.resetPeak();
  const before = (await engine.stats()).activeBytes;
  const result = await work();
  return { result, bytes: Math.max(0, (await engine.stats()).peakBytes - before) };
}
