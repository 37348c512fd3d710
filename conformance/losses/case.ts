import type { EvaluationInput, LossProgram } from '../../shared/program';

/** One case of a fixture file as a program with inputs, and what has to come out. */
export interface LossCase {
  name: string;
  program: LossProgram;
  given: EvaluationInput;
  loss: number;
  metrics: Record<string, number>;
  /** Expected gradients, by input or by the name that `chain` gives them. */
  gradients: Record<string, number[]>;
  /** Carries gradients by engine quantities on to what the fixture has (logits). */
  chain?: (gradients: Record<string, Float64Array>) => Record<string, ArrayLike<number>>;
}

/** Numbers that no program makes: advantages, returns, masks. */
export interface PlainCase {
  name: string;
  expected: number[];
  actual: number[];
}

/** A part of a file that waits for something that the engine does not make yet. */
export interface Waiting {
  part: string;
  quantity: string;
}

export interface LossFile {
  programs: LossCase[];
  plain: PlainCase[];
  waiting: Waiting[];
}

/* eslint-disable-next-line @typescript-eslint/no-explicit-any -- fixtures are read as they are. */
export type Json = any;

export const flat = (x: Json): number[] => {
  if (Array.isArray(x)) return x.flatMap(flat);
  if (x === null) return [NaN];
  if (typeof x === 'boolean') return [x ? 1 : 0];
  return [Number(x === 'nan' ? NaN : x === 'inf' ? Infinity : x === '-inf' ? -Infinity : x)];
};

/** Rows of a padded [B, T] array: each its own trajectory, padding included (its mask is 0). */
export const rowsOf = (matrix: Json[][]): number[] => matrix.map((row) => row.length);

/** Halves or thirds that lie block by block, one after another: trajectories n*i .. n*i + n - 1 belong together. */
export const interleave = <X>(blocks: X[], n: number): X[] => {
  const size = blocks.length / n;
  return Array.from({ length: blocks.length }, (_, i) => blocks[(i % n) * size + Math.floor(i / n)]);
};

export const file = (parts: Partial<LossFile>): LossFile => ({
  programs: [],
  plain: [],
  waiting: [],
  ...parts,
});
