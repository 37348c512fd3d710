import type { RunControl } from './control';

/** Thrown out of work that was thrown away because its person wants something else than to run. */
export class Interrupted extends Error {
  override name = 'Interrupted';
}

/** Runs work that may be done again. @throws Interrupted when it was cancelled by a wish. */
export async function interruptible<T>(
  control: RunControl,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const { signal } = control;
  if (signal.aborted) throw new Interrupted();
  try {
    const value = await work(signal);
    if (signal.aborted) throw new Interrupted();
    return value;
  } catch (error) {
    if (signal.aborted) throw new Interrupted();
    throw error;
  }
}
