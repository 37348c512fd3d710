import type { Needs } from '../../../shared/algorithms';
import type { Example } from '../datasets';
import type { TrainJob, Weights } from './job';
import type { Policy } from './policy';
import type { ProgressMeter } from './progress';
import { referenceOf, scoreOfRows, scoreRows } from './score-rows';

const ROWS_AT_ONCE = 64;

/** log-probability of a row's learnt tokens, and their number. */
interface Likelihood {
  sum: number;
  tokens: number;
}

/**
 * Measures of answers that lie in the dataset: their loss per token; for rated ones, how well the policy tells good
 * from bad by log policy - log reference (without a reference: by its mean log-probability). What it gives the same
 * counts as half told apart: before the first step that is all of it.
 */
export async function heldOutRows(
  job: TrainJob,
  needs: Needs,
  policy: Policy,
  step: number,
  meter: ProgressMeter,
  signal: AbortSignal,
): Promise<Record<string, number>> {
  const { data } = job;
  const score = likelihoods(job, step, meter, signal);
  const scores = (rows: Int32Array[]) => scoreOfRows(job, policy.weights, rows, signal);
  if (data.kind === 'examples') {
    const all = await score(policy.weights, data.heldOut);
    return { 'held_out/nll': -total(all, 'sum') / total(all, 'tokens') };
  }
  const worth = async (rows: readonly Example[]): Promise<number[]> => {
    const ours = await score(policy.weights, rows);
    if (!needs.roles.includes('reference')) return ours.map(({ sum, tokens }) => sum / tokens);
    const base = await score(referenceOf(policy), rows);
    return ours.map(({ sum }, k) => sum - base[k]!.sum);
  };
  if (data.kind === 'pairs' && needs.scalarHead) {
    const better = await scores(data.heldOut.map(({ chosen }) => chosen.ids));
    const worse = await scores(data.heldOut.map(({ rejected }) => rejected.ids));
    return compared(Array.from(better), Array.from(worse));
  }
  if (data.kind === 'pairs') {
    const better = await worth(data.heldOut.map(({ chosen }) => chosen));
    const worse = await worth(data.heldOut.map(({ rejected }) => rejected));
    return compared(better, worse);
  }
  if (data.kind !== 'rated') throw new Error(`no held-out measure on rows for ${data.kind}`);
  const all = await worth(data.heldOut);
  const of = (good: boolean) => mean(all.filter((_, k) => data.heldOut[k]!.good === good));
  return { 'held_out/margin': of(true) - of(false) };
}

const compared = (better: number[], worse: number[]) => ({
  'held_out/accuracy': mean(better.map((x, k) => (x === worse[k]! ? 0.5 : x > worse[k]! ? 1 : 0))),
  'held_out/margin': mean(better.map((x, k) => x - worse[k]!)),
});

const likelihoods =
  (job: TrainJob, step: number, meter: ProgressMeter, signal: AbortSignal) =>
  async (weights: Weights, rows: readonly Example[]): Promise<Likelihood[]> => {
    const all: Likelihood[] = [];
    for (let from = 0; from < rows.length; from += ROWS_AT_ONCE) {
      meter.phase('evaluate', step, from, rows.length);
      const chunk = rows.slice(from, from + ROWS_AT_ONCE);
      const scored = await scoreRows(
        job,
        weights,
        chunk.map(({ ids }) => ids),
        1,
        signal,
      );
      chunk.forEach(({ lossMask }, k) => {
        const one = { sum: 0, tokens: 0 };
        for (let t = 1; t < lossMask.length; t++) {
          if (!lossMask[t]) continue;
          one.sum += scored[k]![t - 1]!;
          one.tokens++;
        }
        all.push(one);
      });
    }
    return all;
  };

const total = (all: Likelihood[], key: keyof Likelihood): number =>
  all.reduce((sum, one) => sum + one[key], 0);
const mean = (values: number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;
