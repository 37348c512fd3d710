import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { fromEngine } from './engine-errors';

it('a file that the operating system refuses is told with its path and what to do', () => {
  let error: unknown;
  try {
    readFileSync('/nonexistent/weights');
  } catch (thrown) {
    error = thrown;
  }
  expect(fromEngine(error)).toMatchObject({
    code: 'io',
    message: expect.stringContaining('/nonexistent/weights'),
    hint: expect.any(String),
  });
});

it('a fault of our own stays one', () => {
  expect(fromEngine(new TypeError('x is undefined'))).toBeUndefined();
  expect(
    fromEngine(Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' })),
  ).toBeUndefined();
});
