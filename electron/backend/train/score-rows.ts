import type { ScoreRequest } from '../../../native/face';
import type { Needs } from '../../../shared/algorithms';
import type { LossProgram } from '../../../shared/program';
import type { TrainRow } from './batch';
import { endToEnd } from './end-to-end';
import type { TrainJob, Weights } from './job';
import type { Policy } from './policy';

type Scored = Pick<TrainJob, 'engine' | 'microTokens'>;

/** [T] of each row: log-probabilities of its tokens under some weights, at the trainer's temperature. */
export async function scoreRows(
  job: Scored,
  weights: Weights,
  rows: readonly Int32Array[],
  temperature: number,
  signal: AbortSignal,
): Promise<Float32Array[]> {
  if (rows.length === 0) return [];
  return byRow((await score(job, weights, rows, { temperature }, signal)).logp, rows);
}

/** [T] of each row: the critic's value before each of its tokens. */
export async function valueRows(
  job: Scored,
  critic: Weights,
  rows: readonly Int32Array[],
  signal: AbortSignal,
): Promise<Float32Array[]> {
  if (rows.length === 0) return [];
  return byRow((await score(job, critic, rows, { logp: false, value: true }, signal)).value!, rows);
}

/** One number a row: the score of its adapter's (or its model's) scalar head. */
export async function scoreOfRows(
  job: Scored,
  weights: Weights,
  rows: readonly Int32Array[],
  signal: AbortSignal,
): Promise<Float32Array> {
  if (rows.length === 0) return new Float32Array();
  return (await score(job, weights, rows, { logp: false, score: true }, signal)).score!;
}

const score = (
  { engine, microTokens }: Scored,
  weights: Weights,
  rows: readonly Int32Array[],
  what: Pick<ScoreRequest, 'temperature' | 'logp' | 'value' | 'score'>,
  signal: AbortSignal,
) =>
  engine.score(
    {
      ...weights,
      rows: endToEnd(rows),
      microTokens,
      ...what,
    },
    { signal },
  );

function byRow(all: Float32Array, rows: readonly Int32Array[]): Float32Array[] {
  let offset = 0;
  return rows.map(({ length }) => all.slice(offset, (offset += length - 1)));
}

/** The reference of an algorithm whose roles have one. */
export function referenceOf({ reference }: Pick<Policy, 'reference'>): Weights {
  if (reference === null) throw new Error('the reference is asked for, but no role says so');
  return reference;
}

/** Forwards without gradient that each of a step's rows costs before it is learnt: `addLogps` and gather-rated.ts. */
export function extraForwards(needs: Needs, { inputs }: LossProgram): number {
  const asks = (name: string) => inputs.some((input) => input.name === name);
  return (
    (needs.judgesReference || asks('refLogp') ? 1 : 0) +
    (asks('oldLogp') ? 1 : 0) +
    (needs.critic ? 1 : 0) +
    (asks('mismatchedLogRatio') ? 2 : 0)
  );
}

/** Adds the log-probabilities that the program asks for and the rows do not have yet. */
export async function addLogps(
  job: TrainJob,
  program: LossProgram,
  needs: Needs,
  policy: Pick<Policy, 'weights' | 'reference'>,
  rows: readonly TrainRow[],
  signal: AbortSignal,
): Promise<void> {
  for (const [name, weights] of [
    ['refLogp', () => referenceOf(policy)],
    ['oldLogp', () => policy.weights],
  ] as const) {
    if (!program.inputs.some((input) => input.name === name)) continue;
    const missing = rows.filter((row) => row.values[name] === undefined);
    const scored = await scoreRows(
      job,
      weights(),
      missing.map((row) => row.ids),
      needs.temperature ?? 1,
      signal,
    );
    missing.forEach((row, k) => (row.values[name] = scored[k]!));
  }
}
