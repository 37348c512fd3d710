import {
  evaluateProgram,
  type Evaluation,
  type EvaluationInput,
  type LossProgram,
} from '../../shared/program';
import type { LossCase, LossFile } from './case';

export type Evaluator = (program: LossProgram, given: EvaluationInput) => Evaluation | Promise<Evaluation>;

/** The reference evaluator, in f64. */
export const reference: Evaluator = evaluateProgram;

export interface Comparison {
  /** Greatest |actual - expected| / (atol + rtol |expected|) * atol, so that it is to be held against atol. */
  maxError: number;
  /** What is out of tolerance, with both numbers. */
  failures: string[];
  compared: number;
}

export class Comparer {
  readonly result: Comparison = { maxError: 0, failures: [], compared: 0 };

  constructor(
    readonly atol: number,
    readonly rtol = atol,
  ) {}

  numbers(what: string, actual: ArrayLike<number>, expected: ArrayLike<number>): void {
    if (actual.length !== expected.length) {
      this.result.failures.push(`${what}: ${actual.length} numbers, expected ${expected.length}`);
      this.result.maxError = Infinity;
      return;
    }
    let worst = -1;
    let worstError = 0;
    for (let i = 0; i < expected.length; i++) {
      const a = actual[i];
      const e = expected[i];
      this.result.compared++;
      const same = Object.is(a, e) || a === e;
      const error = same ? 0 : Math.abs(a - e) / (1 + (this.rtol / this.atol) * Math.abs(e));
      const size = Number.isNaN(error) ? Infinity : error;
      if (size > worstError) {
        worst = i;
        worstError = size;
      }
    }
    this.result.maxError = Math.max(this.result.maxError, worstError);
    if (worstError > this.atol)
      this.result.failures.push(`${what}[${worst}]: ${actual[worst]}, expected ${expected[worst]}`);
  }
}

/** Compares loss, metrics and gradients of one case. */
export async function compareCase(c: LossCase, evaluate: Evaluator, comparer: Comparer): Promise<void> {
  const got = await evaluate(c.program, c.given);
  comparer.numbers(`${c.name} loss`, [got.loss], [c.loss]);
  for (const [name, expected] of Object.entries(c.metrics))
    comparer.numbers(`${c.name} metric ${name}`, [got.metrics[name] ?? NaN], [expected]);
  const gradients: Record<string, ArrayLike<number>> = c.chain ? c.chain(got.gradients) : got.gradients;
  for (const [name, expected] of Object.entries(c.gradients))
    comparer.numbers(`${c.name} gradient ${name}`, gradients[name] ?? [], expected);
}

/** Compares every case of a file; plain numbers too, where `plain`. */
export async function compareFile(
  file: LossFile,
  evaluate: Evaluator,
  atol: number,
  plain = true,
): Promise<Comparison> {
  const comparer = new Comparer(atol);
  for (const c of file.programs) await compareCase(c, evaluate, comparer);
  if (plain) for (const p of file.plain) comparer.numbers(p.name, p.actual, p.expected);
  return comparer.result;
}
