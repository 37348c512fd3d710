import type { z } from 'zod';
import { AtelierError } from './errors';
import { issueHint, issueText } from './issue';

const MAX_DEPTH = 64;

/** Nesting beyond MAX_DEPTH is refused before a schema walks it by recursion. */
function tooDeep(value: unknown): boolean {
  const open: { value: unknown; depth: number }[] = [{ value, depth: 0 }];
  for (let next = open.pop(); next; next = open.pop()) {
    if (typeof next.value !== 'object' || next.value === null || ArrayBuffer.isView(next.value)) continue;
    if (next.depth >= MAX_DEPTH) return true;
    for (const child of Object.values(next.value)) open.push({ value: child, depth: next.depth + 1 });
  }
  return false;
}

/** `["params", "groupSize"]` as "params.groupSize". */
export function pathOf(path: readonly PropertyKey[]): string {
  return path.map(String).join('.');
}

/** @throws AtelierError invalid_input; details.path names the field, details.issues all of them. */
export function parseInput<S extends z.ZodType>(schema: S, value: unknown): z.output<S> {
  if (tooDeep(value))
    throw new AtelierError('invalid_input', `The request is nested deeper than ${MAX_DEPTH}.`);
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const issues = parsed.error.issues.map((issue) => ({
    path: pathOf(issue.path),
    message: issueText(issue),
  }));
  const first = issues[0] ?? { path: '', message: 'not valid' };
  throw new AtelierError(
    'invalid_input',
    first.path === '' ? first.message : `${first.path}: ${first.message}`,
    parsed.error.issues[0] && issueHint(schema, parsed.error.issues[0]),
    { path: first.path, issues },
  );
}
