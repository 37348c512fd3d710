import { expect, test } from 'vitest';
import type { Span, Timeline } from '../../../../shared/contract/timeline';
import { columnsOf, engineGaps, PARTS, sharesOf } from './time-shares';

const span = (
  lane: Span['lane'],
  phase: Span['phase'],
  start: number,
  end: number,
  busy = end - start,
): Span => ({
  lane,
  phase,
  start,
  end,
  busy,
});

const step: Timeline = {
  step: 1,
  began: 0,
  length: 1000,
  spans: [
    span('engine', 'rollout', 10, 400, 380),
    span('rewards', 'reward', 200, 500),
    span('backend', 'rows', 480, 540),
    span('engine', 'update', 550, 900),
    span('backend', 'store', 20, 30),
  ],
};

test('what the engine waited for adds up to the step', () => {
  expect(engineGaps(step)).toEqual([
    [0, 10],
    [400, 550],
    [900, 1000],
  ]);
  const shares = sharesOf(step);
  expect(shares).toMatchObject({
    rollout: 380,
    update: 350,
    waitsForRewards: 100,
    // from the end of the rewards on: what overlaps is counted once
    waitsForBackend: 40,
    // 10 before, 10 after the rows, 100 at the end, 10 within the sampling
    waits: 130,
  });
  expect(Object.values(shares).reduce((sum, one) => sum + one)).toBe(1000);
});

test('a step without spans was waited through', () => {
  expect(sharesOf({ spans: [], length: 50 }).waits).toBe(50);
  expect(engineGaps({ spans: [], length: 0 })).toEqual([]);
});

test('many steps share columns, weighed by their length; what came before the first is none', () => {
  const long = { ...step, step: 2, length: 3000 };
  const columns = columnsOf([{ ...step, step: 0 }, step, long, { ...step, step: 3 }], 2);
  expect(columns.map(({ first, last }) => [first, last])).toEqual([
    [1, 2],
    [3, 3],
  ]);
  const of = (part: string, k: number) => columns[k]!.shares[PARTS.findIndex((one) => one.part === part)];
  expect(of('rollout', 0)).toBeCloseTo(760 / 4000);
  expect(of('rollout', 1)).toBeCloseTo(0.38);
  for (const { shares } of columns) expect(shares.reduce((sum, one) => sum + one)).toBeCloseTo(1);
  expect(columnsOf([], 10)).toEqual([]);
});
