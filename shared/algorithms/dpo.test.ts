import { expect, it } from 'vitest';
import { evaluateProgram } from '../program';
import { dpo, dpoLoss } from './dpo';

it('learns the better answer in full, also where its pair counts less beyond the shorter answer', () => {
  const options = dpo.params.parse({ sftWeight: 1, beyondShorter: 0, loss: 'sigmoid' });
  const gradient = (sftWeight: number) => {
    const program = dpoLoss({ ...options, sftWeight });
    const all: Record<string, number[]> = {
      loss: [1, 1, 1, 1],
      logp: [-1, -2, -3, -1],
      refLogp: [-1, -2, -3, -1],
      entropy: [0, 0, 0, 0],
      chosen: [1, 0],
    };
    const inputs = Object.fromEntries(program.inputs.map(({ name }) => [name, all[name]!]));
    return evaluateProgram(program, { targets: [3, 1], inputs, gradients: ['logp'] }).gradients['logp']!;
  };
  const [pair, both] = [gradient(0), gradient(1)];
  expect([...pair].map((g) => Math.abs(g) > 0)).toEqual([true, false, false, true]);
  expect([...both].map((g, t) => g - pair[t]!)).toEqual(
    [-1 / 3, -1 / 3, -1 / 3, 0].map((g) => expect.closeTo(g, 9)),
  );
});
