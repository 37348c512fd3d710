import { expect, it } from 'vitest';
import { Gate } from './gate';

it('lets so many through at once, in their order, whatever becomes of them', async () => {
  const gate = new Gate(2);
  const releases: (() => void)[] = [];
  const entered: number[] = [];
  const work = (k: number) =>
    gate.pass(async () => {
      entered.push(k);
      await new Promise<void>((resolve) => releases.push(resolve));
      if (k === 0) throw new Error('no');
      return k;
    });
  const all = [0, 1, 2, 3].map(work);
  all[0]!.catch(() => undefined);
  expect(entered).toEqual([0, 1]);
  releases[0]!();
  await expect(all[0]).rejects.toThrow('no');
  expect(entered).toEqual([0, 1, 2]);
  releases[1]!();
  releases[2]!();
  expect(await all[1]).toBe(1);
  expect(await all[2]).toBe(2);
  releases[3]!();
  expect(await all[3]).toBe(3);
  expect(gate.idle).toBe(true);
});
