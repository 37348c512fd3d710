import { MAX_MEMORY } from './limits';

/** Words for what code threw, from what QuickJS dumps. `who`: "a reward". */
export function describeError(error: unknown, who: string): string {
  if (typeof error !== 'object' || error === null) return `threw ${String(error)}`.slice(0, 500);
  const { name, message } = error as { name?: unknown; message?: unknown };
  if (message === 'out of memory') return `out of memory: ${who} may use ${MAX_MEMORY >> 20} MB`;
  return `${typeof name === 'string' ? name : 'Error'}: ${String(message)}`.slice(0, 500);
}

/** The innermost frame in the user's file. Blanked types keep their places, so no map is needed. */
export function placeIn(error: unknown, file: string): { line?: number; column?: number } {
  const stack = typeof error === 'object' && error !== null && 'stack' in error ? String(error.stack) : '';
  const found = new RegExp(`${file.replace('.', '\\.')}:(\\d+)(?::(\\d+))?`).exec(stack);
  if (!found) return {};
  return { line: Number(found[1]), ...(found[2] ? { column: Number(found[2]) } : {}) };
}
