import type { LossProgram } from '../../program';
import { ALGORITHMS, fields, type Algorithm } from '../index';

/** A loss of the product: an algorithm's program under some of its settings. */
export interface Variant {
  name: string;
  algorithm: Algorithm;
  params: Record<string, unknown>;
  program: LossProgram;
}

/** Settings one away from the defaults: each option of each choice, and each switch turned round. */
function settings(algorithm: Algorithm): Record<string, unknown>[] {
  return [
    {},
    ...fields(algorithm).flatMap(({ key, type, default: value, options }): Record<string, unknown>[] => {
      if (type === 'boolean') return [{ [key]: !value }];
      return (options ?? []).map((option) => ({ [key]: option.value }));
    }),
    // what is off by default and is a number
    { beta: 0.04 },
    { entropyBonus: 0.01 },
    { sftWeight: 0.5 },
    { labelSmoothing: 0.1, loss: 'robust' },
    { labelSmoothing: 0.1, loss: 'exo_pair' },
    { labelSmoothing: 0.1 },
    { beyondShorter: 0.5 },
    { ratioCap: 2 },
    { klInReward: 0.05 },
  ];
}

/** Every different program of every registered algorithm: a new one is among them without an edit. */
export function variants(): Variant[] {
  return ALGORITHMS.flatMap((algorithm) => {
    const known = new Set<string>();
    return settings(algorithm).flatMap((given) => {
      const parsed = algorithm.params.safeParse(given);
      if (!parsed.success) return [];
      return Object.entries(algorithm.losses(parsed.data)).flatMap(([role, program]) => {
        const text = JSON.stringify(program);
        if (known.has(text)) return [];
        known.add(text);
        const what = Object.entries(given).map(([key, value]) => `${key} ${String(value)}`);
        const name = [algorithm.key, ...(role === 'policy' ? [] : [role]), ...what].join(', ');
        return [{ name, algorithm, params: parsed.data, program }];
      });
    });
  });
}
