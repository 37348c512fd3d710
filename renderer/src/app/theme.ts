import { useSyncExternalStore } from 'react';

export type ThemeChoice = 'system' | 'light' | 'dark';

const storageKey = 'atelier.theme';
const system = window.matchMedia('(prefers-color-scheme: dark)');
const listeners = new Set<() => void>();

function choice(): ThemeChoice {
  const stored = localStorage.getItem(storageKey);
  return stored === 'light' || stored === 'dark' ? stored : 'system';
}

/** Puts the theme in force on the document, now and whenever the system's changes. */
export function applyTheme(): void {
  const put = () => {
    const now = choice();
    document.documentElement.dataset['theme'] = now === 'system' ? (system.matches ? 'dark' : 'light') : now;
    for (const listener of listeners) listener();
  };
  put();
  system.addEventListener('change', put);
}

export function setTheme(next: ThemeChoice): void {
  localStorage.setItem(storageKey, next);
  document.documentElement.dataset['theme'] = next === 'system' ? (system.matches ? 'dark' : 'light') : next;
  for (const listener of listeners) listener();
}

export function useThemeChoice(): ThemeChoice {
  return useSyncExternalStore((listener) => {
    listeners.add(listener);
    return () => listeners.delete(listener);
  }, choice);
}
