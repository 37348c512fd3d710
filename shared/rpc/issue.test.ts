import { expect, it } from 'vitest';
import { z } from 'zod';
import { parseInput } from './parse';

const schema = z.strictObject({
  steps: z.int().min(1).max(5).optional(),
  rate: z.number().max(1).optional(),
  name: z.string().min(1).max(3).optional(),
  mode: z.enum(['a', 'b']).optional(),
  id: z.string().regex(/^a/, 'letters only').optional(),
  more: z.strictObject({ inner: z.boolean(), other: z.array(z.string()).min(1).optional() }).optional(),
});

it.each([
  [{ steps: 0 }, 'steps: must be at least 1'],
  [{ steps: 1.5 }, 'steps: must be a whole number'],
  [{ steps: '3' }, 'steps: must be a number, this is a text'],
  [{ rate: 2 }, 'rate: must be at most 1'],
  [{ rate: NaN }, 'rate: must be a number, this is not a number'],
  [{ name: '' }, 'name: must have at least 1 characters'],
  [{ mode: 'c' }, 'mode: must be one of a, b'],
  [{ id: 'b' }, 'id: letters only'],
  [{ more: {} }, 'more.inner: is missing'],
  [{ more: [] }, 'more: must be a group of fields, this is a list'],
  [{ more: { inner: true, other: [] } }, 'more.other: must have at least 1 entries'],
  [null, 'must be a group of fields, this is empty'],
])('%j: %s', (value, message) => {
  expect(() => parseInput(schema, value)).toThrow(
    expect.objectContaining({ code: 'invalid_input', message }) as Error,
  );
});

it.each([
  [{ stepz: 1 }, 'There are steps, rate, name, mode, id, more.'],
  [{ more: { inner: true, iner: 1 } }, 'There are inner, other.'],
])('%j: a field that does not exist is told those that do', (value, hint) => {
  expect(() => parseInput(schema, value)).toThrow(expect.objectContaining({ hint }) as Error);
});
