import { useCallback, useState } from 'react';

/** A value kept in this browser under a key, so that a half-filled form survives a reload. */
export function useStored<T>(key: string, initial: () => T, parse: (value: unknown) => T | null) {
  const [value, setValue] = useState<T>(() => {
    try {
      const text = localStorage.getItem(key);
      const parsed = text === null ? null : parse(JSON.parse(text));
      return parsed ?? initial();
    } catch {
      return initial();
    }
  });
  const set = useCallback(
    (next: T) => {
      setValue(next);
      try {
        localStorage.setItem(key, JSON.stringify(next));
      } catch {
        // a full or forbidden store loses only the draft's survival of a reload
      }
    },
    [key],
  );
  const clear = useCallback(() => localStorage.removeItem(key), [key]);
  return [value, set, clear] as const;
}
