import { describe, expect, it } from 'vitest';
import { DataOrder } from './data-order';
import { draw, permutation } from './random';

describe('draws', () => {
  it('are the same for the same key, for ever', () => {
    // part of a run's meaning: a resumed run of an older Atelier draws these
    expect([
      draw(7, 'rollout', 1),
      draw(7, 'rollout', 2),
      draw(8, 'rollout', 1),
      draw(7, 'shuffle', 1, 3),
    ]).toEqual([8461794205471914, 15637456134760, 6086008514134098, 7389223607545472]);
  });

  it('lie in [0, 2^53) evenly, and differ by every part of the key', () => {
    const seen = new Set<number>();
    let sum = 0;
    for (const seed of [0, 1, 2 ** 31, 2 ** 40]) {
      for (const stream of ['lora', 'shuffle', 'rollout', 'heldOut', 'reward'] as const) {
        for (let step = 0; step < 50; step++) {
          for (let index = 0; index < 20; index++) {
            const value = draw(seed, stream, step, index);
            expect(Number.isInteger(value) && value >= 0 && value < 2 ** 53).toBe(true);
            seen.add(value);
            sum += value / 2 ** 53;
          }
        }
      }
    }
    expect(seen.size).toBe(20_000);
    expect(sum / 20_000).toBeCloseTo(0.5, 2);
  });
});

describe('the order of rows', () => {
  it('is a permutation, another one each epoch', () => {
    const orders = [0, 1, 2].map((epoch) => [...permutation(50, 3, epoch)]);
    for (const order of orders)
      expect([...order].sort((a, b) => a - b)).toEqual(Array.from({ length: 50 }, (_, k) => k));
    expect(new Set(orders.map(String)).size).toBe(3);
  });

  it('takes each row once an epoch, across the ends of steps', () => {
    const wrap = new DataOrder(10, 4, 1, 'wrap');
    const rows = [1, 2, 3, 4, 5].flatMap((step) => wrap.step(step));
    expect(new Set(rows.slice(0, 10)).size).toBe(10);
    expect(new Set(rows.slice(10)).size).toBe(10);
    const ragged = new DataOrder(10, 4, 1, 'ragged');
    expect([1, 2, 3, 4].map((step) => ragged.step(step).length)).toEqual([4, 4, 2, 4]);
    expect(new Set([1, 2, 3].flatMap((step) => ragged.step(step))).size).toBe(10);
  });

  it('of a step does not depend on the steps asked before', () => {
    const order = new DataOrder(10, 4, 1, 'wrap');
    const late = order.step(9);
    order.step(1);
    expect(order.step(9)).toEqual(late);
  });
});
