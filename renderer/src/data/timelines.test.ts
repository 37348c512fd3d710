import { expect, test } from 'vitest';
import { Timelines } from './timelines';

const timeline = (step: number, length = 1) => ({ step, began: 0, length, spans: [] });

test('is found by its step, and beside it', () => {
  const all = new Timelines();
  for (const step of [3, 4, 6]) all.append(timeline(step));
  expect(all.of(4)?.step).toBe(4);
  expect(all.of(5)).toBeUndefined();
  expect(all.of(2)).toBeUndefined();
  expect(all.last?.step).toBe(6);
  const beside = (step: number) => [all.beside(step, -1)?.step, all.beside(step, 1)?.step];
  expect(beside(4)).toEqual([3, 6]);
  expect(beside(5)).toEqual([4, 6]);
  expect(beside(3)).toEqual([undefined, 4]);
  expect(beside(6)).toEqual([4, undefined]);
  expect(beside(99)).toEqual([6, undefined]);
});

test('a step that comes again replaces what came after it', () => {
  const all = new Timelines();
  for (const step of [0, 1, 2, 3]) all.append(timeline(step));
  all.append(timeline(2, 9));
  expect(all.all.map(({ step, length }) => [step, length])).toEqual([
    [0, 1],
    [1, 1],
    [2, 9],
  ]);
  all.truncate(0);
  expect(all.length).toBe(1);
});
