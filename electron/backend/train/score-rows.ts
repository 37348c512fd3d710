import type { AdapterId } from '../../../native/face';
import type { Needs } from '../../../shared/algorithms';
import type { LossProgram } from '../../../shared/program';
import type { TrainRow } from './batch';
import type { TrainJob } from './job';

/** [T] of each row: log-probabilities of its tokens, at the trainer's temperature. `adapter` null: the base model. */
export async function scoreRows(
  job: Pick<TrainJob, 'engine' | 'model' | 'microTokens'>,
  adapter: AdapterId | null,
  rows: readonly Int32Array[],
  temperature: number,
  signal: AbortSignal,
): Promise<Float32Array[]> {
  if (rows.length === 0) return [];
  const { logp } = await job.engine.score(
    {
      model: job.model.id,
      adapter,
      rows: {
        ids: Int32Array.from(rows.flatMap((ids) => Array.from(ids))),
        lengths: Int32Array.from(rows, ({ length }) => length),
      },
      temperature,
      microTokens: job.microTokens,
    },
    { signal },
  );
  let offset = 0;
  return rows.map(({ length }) => logp.slice(offset, (offset += length - 1)));
}

/** Forwards without gradient that each of a step's rows costs before it is learnt: `addLogps` and gather-rated.ts. */
export function extraForwards(needs: Needs, { inputs }: LossProgram): number {
  const asks = (name: string) => inputs.some((input) => input.name === name);
  return (
    (needs.judgesReference || asks('refLogp') ? 1 : 0) +
    (asks('oldLogp') ? 1 : 0) +
    (asks('mismatchedLogRatio') ? 2 : 0)
  );
}

/** Adds the log-probabilities that the program asks for and the rows do not have yet. */
export async function addLogps(
  job: TrainJob,
  program: LossProgram,
  needs: Needs,
  policy: AdapterId,
  rows: readonly TrainRow[],
  signal: AbortSignal,
): Promise<void> {
  for (const [name, adapter] of [
    ['refLogp', null],
    ['oldLogp', policy],
  ] as const) {
    if (!program.inputs.some((input) => input.name === name)) continue;
    const missing = rows.filter((row) => row.values[name] === undefined);
    const scored = await scoreRows(
      job,
      adapter,
      missing.map((row) => row.ids),
      needs.temperature ?? 1,
      signal,
    );
    missing.forEach((row, k) => (row.values[name] = scored[k]!));
  }
}
