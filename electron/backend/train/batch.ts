import type { StepRequest } from '../../../native/face';
import type { LossProgram, ProgramInput } from '../../../shared/program';
import { endToEnd } from './end-to-end';

/** A token sequence as the trainer sees it. `[T]` arrays have one entry a target: the row's tokens 1..n-1. */
export interface TrainRow {
  ids: Int32Array;
  group: number;
  /** `skip`: cannot change weights; counts in every denominator, is not forwarded. */
  use: 'train' | 'skip';
  /** [T] 1 where it is learnt. */
  loss: Uint8Array;
  /** The loss program's other inputs: one number a row, or an array [T]. shared/algorithms TRAINER_INPUTS names them. */
  values: Record<string, number | Float32Array>;
}

export type Batch = Pick<StepRequest, 'rows' | 'groups' | 'skip' | 'inputs'>;

export const lossTokens = (rows: readonly TrainRow[]): number =>
  rows.reduce((sum, row) => sum + row.loss.reduce((count, bit) => count + bit, 0), 0);

/**
 * Groups split into updates, whole groups each, as even as their number allows; fewer where there are fewer
 * groups than updates.
 */
export function splitByGroup(rows: readonly TrainRow[], updates: number): TrainRow[][] {
  const groups = [...new Set(rows.map((row) => row.group))];
  const count = Math.min(updates, groups.length);
  return Array.from({ length: count }, (_, k) => {
    const from = Math.floor((k * groups.length) / count);
    const to = Math.floor(((k + 1) * groups.length) / count);
    const chosen = new Set(groups.slice(from, to));
    return rows.filter((row) => chosen.has(row.group));
  });
}

/**
 * The engine's request for one update. Rows that cannot change weights go along as `skip`: counted, not
 * forwarded. `meanStepTokens`: tokens learnt in all updates of the step, divided by their number.
 */
export function buildBatch(
  rows: readonly TrainRow[],
  program: LossProgram,
  meanStepTokens: number,
  params: Record<string, unknown>,
): Batch {
  const inputs: Batch['inputs'] = {};
  for (const input of program.inputs) {
    if (input.from === 'data') inputs[input.name] = dataInput(input, rows, meanStepTokens);
    else if (input.from === 'param') inputs[input.name] = Float32Array.of(paramInput(input.name, params));
  }
  const numbers = new Map([...new Set(rows.map((row) => row.group))].map((group, k) => [group, k]));
  return {
    rows: endToEnd(rows.map((row) => row.ids)),
    groups: Int32Array.from(rows.map((row) => numbers.get(row.group)!)),
    ...(rows.some((row) => row.use === 'skip')
      ? { skip: Uint8Array.from(rows.map((row) => (row.use === 'skip' ? 1 : 0))) }
      : {}),
    inputs,
  };
}

function paramInput(name: string, params: Record<string, unknown>): number {
  const value = params[name];
  if (typeof value !== 'number') throw new Error(`the loss program asks for the param "${name}", a number`);
  return value;
}

function dataInput(input: ProgramInput, rows: readonly TrainRow[], meanStepTokens: number): Float32Array {
  if (input.name === 'loss') return joined(rows.map((row) => row.loss));
  if (input.name === 'meanStepTokens') return Float32Array.of(meanStepTokens);
  const values = rows.map((row) => {
    const value = row.values[input.name];
    if (value === undefined)
      throw new Error(`the loss program asks for "${input.name}", which was not made for this step`);
    if ((typeof value === 'number') !== (input.shape === 'S'))
      throw new Error(`"${input.name}" was made ${typeof value === 'number' ? 'by row' : 'by token'}`);
    return value;
  });
  return input.shape === 'S' ? Float32Array.from(values as number[]) : joined(values as Float32Array[]);
}

function joined(parts: readonly ArrayLike<number>[]): Float32Array {
  const all = new Float32Array(parts.reduce((sum, part) => sum + part.length, 0));
  let offset = 0;
  for (const part of parts) {
    all.set(part, offset);
    offset += part.length;
  }
  return all;
}
