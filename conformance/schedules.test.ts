import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { learningRateFactor } from '../shared/schedules';
import { Comparer } from './losses/compare';
import { schedules } from './schedules';

const fixture = JSON.parse(
  readFileSync(new URL('fixtures/optim/lr_schedules.json', import.meta.url), 'utf8'),
);

it.each(schedules(fixture).map((c) => [c.name, c] as const))('%s as transformers', (name, c) => {
  const comparer = new Comparer(1e-6);
  comparer.numbers(name, c.actual, c.expected);
  expect(comparer.result.failures).toEqual([]);
});

it('goes on at the end value after the last update', () => {
  const at = (schedule: 'linear' | 'cosine' | 'constant', k: number) =>
    learningRateFactor({ schedule, warmup: 2, updates: 10 }, k);
  expect([at('linear', 10), at('cosine', 50), at('constant', 50)]).toEqual([0, 0, 1]);
});

it('has no warm-up of 0 updates', () => {
  expect(learningRateFactor({ schedule: 'linear', warmup: 0, updates: 1 }, 0)).toBe(1);
});
