import type { AdapterId } from '../../../native/face';
import type { TrainRow } from './batch';
import { fromDataset, type Gathered } from './gathered';
import type { Example, PairRow, RatedRow, TrainJob } from './job';
import type { Plan } from './plan';
import { addLogps, scoreRows } from './score-rows';

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
  policy: AdapterId,
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
  policy: AdapterId,
  rated: readonly RatedRow[],
  signal: AbortSignal,
): Promise<Gathered> {
  const rows = ratedRows(rated);
  await addLogps(job, plan.program, plan.needs, policy, rows, signal);
  if (plan.program.inputs.some((input) => input.name === 'mismatchedLogRatio')) {
    const mismatched = rated.map((row, k) => mismatch(row, rated[(k + 1) % rated.length]!));
    const ids = mismatched.map((row) => row.ids);
    const ours = await scoreRows(job, policy, ids, 1, signal);
    const base = await scoreRows(job, null, ids, 1, signal);
    rows.forEach((row, k) => {
      const { lossMask } = mismatched[k]!;
      let sum = 0;
      for (let t = 1; t < lossMask.length; t++) if (lossMask[t]) sum += ours[k]![t - 1]! - base[k]![t - 1]!;
      row.values['mismatchedLogRatio'] = sum;
    });
  }
  return fromDataset(rows);
}

/** A row's prompt with the next row's answer, as trl 1.16.0 makes KTO's KL rows. */
function mismatch(row: Example, other: Example): Example {
  const prompt = row.ids.slice(0, row.lossMask.indexOf(1));
  const start = other.lossMask.indexOf(1);
  const answer = other.ids.slice(start);
  const ids = new Int32Array(prompt.length + answer.length);
  ids.set(prompt);
  ids.set(answer, prompt.length);
  const lossMask = new Uint8Array(ids.length);
  lossMask.set(other.lossMask.slice(start), prompt.length);
  return { ids, lossMask };
}
