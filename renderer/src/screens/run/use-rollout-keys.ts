import { useEffect, type RefObject } from 'react';

export interface RolloutActions {
  /** The answer after (1) or before (-1) the chosen one. */
  move: (by: 1 | -1) => unknown;
  /** The step after or before. */
  turn: (by: 1 | -1) => void;
  toggleTokens: () => void;
}

/** j and k go through the list, h and l through the steps, t shows tokens, / searches. */
export function useRolloutKeys(root: RefObject<HTMLElement | null>, actions: RolloutActions): void {
  useEffect(() => {
    const keys = (event: KeyboardEvent) => {
      const target = event.target as HTMLElement;
      if (event.metaKey || event.ctrlKey || event.altKey) return;
      if (target.closest('input, textarea, [contenteditable], [role=dialog]') !== null) return;
      if (event.key === 'j') actions.move(1);
      else if (event.key === 'k') actions.move(-1);
      else if (event.key === 'l') actions.turn(1);
      else if (event.key === 'h') actions.turn(-1);
      else if (event.key === 't') actions.toggleTokens();
      else if (event.key === '/')
        root.current?.querySelector<HTMLInputElement>('input[type=search]')?.focus();
      else return;
      event.preventDefault();
    };
    window.addEventListener('keydown', keys);
    return () => window.removeEventListener('keydown', keys);
  }, [root, actions]);
}
