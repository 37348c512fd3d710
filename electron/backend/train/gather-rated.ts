import { AtelierError } from '../../../shared/rpc';
import type { TrainRow } from './batch';
import { fromDataset, type Gathered } from './gathered';
import type { Example, PairRow, RatedRow, RowList } from '../datasets';
import type { TrainJob } from './job';
import type { Plan } from './plan';
import type { Policy } from './policy';
import { addLogps, referenceOf, scoreRows } from './score-rows';

const trainRow = ({ ids, lossMask }: Example, group: number, values: TrainRow['values']): TrainRow => ({
  ids,
  group,
  use: 'train',
  loss: lossMask.slice(1),
  values,
});

/** Trajectories 2k and 2k + 1: the better and the worse answer. */
export const pairRows = (pairs: readonly PairRow[]): TrainRow[] =>
  pairs.flatMap(({ chosen, rejected }, group) => [
    trainRow(chosen, group, { chosen: 1, chosenTokens: new Float32Array(chosen.ids.length - 1).fill(1) }),
    trainRow(rejected, group, { chosen: 0, chosenTokens: new Float32Array(rejected.ids.length - 1) }),
  ]);

export const ratedRows = (rows: readonly RatedRow[]): TrainRow[] =>
  rows.map((row, group) => trainRow(row, group, { label: row.good ? 1 : 0 }));

export async function gatherPairs(
  job: TrainJob,
  plan: Plan,
  policy: Policy,
  pairs: readonly PairRow[],
  signal: AbortSignal,
): Promise<Gathered> {
  const rows = pairRows(pairs);
  await addLogps(job, plan.program, plan.needs, policy, rows, signal);
  return fromDataset(rows);
}

export async function gatherRated(
  job: TrainJob,
  plan: Plan,
  policy: Policy,
  rated: readonly RatedRow[],
  signal: AbortSignal,
): Promise<Gathered> {
  const rows = ratedRows(rated);
  await addLogps(job, plan.program, plan.needs, policy, rows, signal);
  if (plan.program.inputs.some((input) => input.name === 'mismatchedLogRatio')) {
    const limit = Math.min(plan.needs.maxTokens ?? Infinity, job.contextLength);
    const mismatched = rated.map((row, k) => mismatch(row, nextOf(job, rated, k), limit));
    const ids = mismatched.map((row) => row.ids);
    const ours = await scoreRows(job, policy.weights, ids, 1, signal);
    const base = await scoreRows(job, referenceOf(policy), ids, 1, signal);
    rows.forEach((row, k) => {
      const { lossMask } = mismatched[k]!;
      let sum = 0;
      for (let t = 1; t < lossMask.length; t++) if (lossMask[t]) sum += ours[k]![t - 1]! - base[k]![t - 1]!;
      row.values['mismatchedLogRatio'] = sum;
    });
  }
  return fromDataset(rows);
}

/** The row whose answer is put to row k's prompt; a step's only row takes one from outside the step. */
function nextOf(job: TrainJob, rated: readonly RatedRow[], k: number): RatedRow {
  if (rated.length > 1) return rated[(k + 1) % rated.length]!;
  const all = job.data.rows as RowList<RatedRow>;
  const { line } = rated[k]!;
  const other = [line, line + 1].map((at) => all.at(at % all.length)!).find((row) => row.line !== line);
  if (other) return other;
  throw new AtelierError(
    'invalid_data',
    'The data has one usable row: what good and bad are measured from needs the answer to another prompt.',
    'Add rows, or choose the loss that needs no baseline (APO, unpaired).',
  );
}

/**
 * A row's prompt with another row's answer, as trl 1.16.0 makes KTO's KL rows; cut at `limit` tokens, since two rows
 * that fit may make one that does not.
 */
function mismatch(row: Example, other: Example, limit: number): Example {
  const prompt = row.ids.slice(0, row.lossMask.indexOf(1));
  const start = other.lossMask.indexOf(1);
  const end = start + limit - prompt.length;
  const answer = other.ids.slice(start, end);
  const ids = new Int32Array(prompt.length + answer.length);
  ids.set(prompt);
  ids.set(answer, prompt.length);
  const lossMask = new Uint8Array(ids.length);
  lossMask.set(other.lossMask.slice(start, end), prompt.length);
  return { ids, lossMask };
}
