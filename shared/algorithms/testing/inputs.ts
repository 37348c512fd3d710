import type { LossProgram, ProgramInput } from '../../program';

/** Numbers in [0, 1) that depend on the seed alone (mulberry32). */
export function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Rows of a step: targets of each, and how many of them are the prompt's. */
export interface StepRows {
  targets: number[];
  prompt: number[];
  /** [T] log-probabilities that those of other policies lie near. */
  logp: ArrayLike<number>;
}

/** Rows that a step of any algorithm could have; a pair's two lie side by side. */
export const STEP_ROWS: Pick<StepRows, 'targets' | 'prompt'> = {
  targets: [7, 9, 12, 4, 18, 10, 5, 14],
  prompt: [3, 3, 2, 2, 6, 6, 1, 1],
};

/** [T] 1 on the answers. */
export const answers = ({ targets, prompt }: Pick<StepRows, 'targets' | 'prompt'>): number[] =>
  targets.flatMap((n, row) => Array.from({ length: n }, (_, t) => (t >= prompt[row]! ? 1 : 0)));

/** Inputs that are weights and values rather than another policy's log-probabilities. */
const SIGNED = new Set(['tokenAdvantage', 'returns', 'oldValue']);

function dataInput({ name, shape, kind }: ProgramInput, rows: StepRows, next: () => number): number[] {
  const { targets } = rows;
  const mask = answers(rows);
  if (shape === 'scalar') return [mask.reduce((sum, bit) => sum + bit, 0)];
  if (shape === 'T') {
    if (name === 'chosenTokens')
      return targets.flatMap((n, row) => Array<number>(n).fill(row % 2 === 0 ? 1 : 0));
    if (kind === 'mask') return mask;
    const signed = SIGNED.has(name);
    return Array.from(rows.logp, (x) => (signed ? 2 * next() - 1 : x + 0.2 * (next() - 0.5)));
  }
  const size = targets.length / Number(shape.slice(2) || 1);
  return Array.from({ length: size }, (_, k) => (kind === 'mask' ? (k + 1) % 2 : 2 * next() - 1));
}

/** Every input of a program that a trainer makes, by name; values of `rows` alone. */
export function trainerInputs(
  program: LossProgram,
  params: Record<string, unknown>,
  rows: StepRows,
): Record<string, Float32Array> {
  const next = random(7);
  return Object.fromEntries(
    program.inputs.flatMap((input) => {
      if (input.from === 'engine') return [];
      const values = input.from === 'param' ? [Number(params[input.name])] : dataInput(input, rows, next);
      return [[input.name, Float32Array.from(values)]];
    }),
  );
}
