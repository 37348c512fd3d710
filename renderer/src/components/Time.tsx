import { useSyncExternalStore } from 'react';
import { formatAbsolute, formatRelative } from './format';

let now = Date.now();
const listeners = new Set<() => void>();
let timer: ReturnType<typeof setInterval> | undefined;

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  timer ??= setInterval(() => {
    now = Date.now();
    for (const each of listeners) each();
  }, 20_000);
  return () => {
    listeners.delete(listener);
    if (listeners.size === 0) {
      clearInterval(timer);
      timer = undefined;
    }
  };
}

/** A moment, relative; the absolute time is in the tooltip. */
export function Time({ at }: { at: number }) {
  const current = Math.max(
    useSyncExternalStore(subscribe, () => now),
    at,
  );
  return (
    <time dateTime={new Date(at).toISOString()} title={formatAbsolute(at)}>
      {formatRelative(at, current)}
    </time>
  );
}
