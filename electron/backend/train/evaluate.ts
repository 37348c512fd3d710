import type { AdapterId } from '../../../native/face';
import type { Needs } from '../../../shared/algorithms';
import type { ExampleRow, PromptRow, TrainJob } from './job';
import type { ProgressMeter } from './progress';
import { draw } from './random';

const ROWS_AT_ONCE = 64;

/** Held-out measures of the policy. The same prompts and random keys before and after: only the policy differs. */
export async function evaluate(
  job: TrainJob,
  needs: Needs,
  adapter: AdapterId,
  step: number,
  meter: ProgressMeter,
  signal: AbortSignal,
): Promise<Record<string, number>> {
  const { data } = job;
  if (data.kind === 'examples') return heldOutLoss(job, adapter, data.heldOut, step, meter, signal);
  const total = 2 * data.heldOut.length;
  const measure = async (temperature: number, done: number) => {
    const { rows } = await job.engine.generate(
      {
        model: job.model.id,
        adapter,
        prompts: data.heldOut.map((prompt) => prompt.ids),
        samplesPerPrompt: 1,
        maxNewTokens: needs.maxNewTokens ?? 512,
        temperature,
        stopIds: job.text.stopIds,
        seed: draw(job.config.seed, 'heldOut', 0),
      },
      { signal, onProgress: ({ finished }) => meter.phase('evaluate', step, done + finished, total) },
    );
    signal.throwIfAborted();
    const samples = await Promise.all(
      rows.map(async (row, index) => ({
        prompt: data.heldOut[row.prompt] as PromptRow,
        completion: await job.text.decode(row.ids),
        ids: row.ids,
        index,
      })),
    );
    const scores = await job.scorer!.score(
      samples,
      { seed: draw(job.config.seed, 'reward', 0), step: 0 },
      signal,
    );
    const rewards = scores.flatMap((score) => (score.reward === null ? [] : [score.reward]));
    return {
      mean: rewards.reduce((sum, reward) => sum + reward, 0) / rewards.length,
      missing: (scores.length - rewards.length) / scores.length,
    };
  };
  meter.phase('evaluate', step, 0, total);
  const sampled = await measure(needs.temperature ?? 1, 0);
  const greedy = await measure(0, data.heldOut.length);
  return {
    'held_out/sampled': sampled.mean,
    'held_out/greedy': greedy.mean,
    'held_out/missing': Math.max(sampled.missing, greedy.missing),
  };
}

/** Mean negative log-likelihood of the held-out answers, per token, in nats. */
async function heldOutLoss(
  job: TrainJob,
  adapter: AdapterId,
  rows: ExampleRow[],
  step: number,
  meter: ProgressMeter,
  signal: AbortSignal,
): Promise<Record<string, number>> {
  let sum = 0;
  let tokens = 0;
  for (let from = 0; from < rows.length; from += ROWS_AT_ONCE) {
    meter.phase('evaluate', step, from, rows.length);
    const chunk = rows.slice(from, from + ROWS_AT_ONCE);
    const { logp } = await job.engine.score(
      {
        model: job.model.id,
        adapter,
        rows: {
          ids: Int32Array.from(chunk.flatMap((row) => Array.from(row.ids))),
          lengths: Int32Array.from(chunk.map((row) => row.ids.length)),
        },
        microTokens: job.microTokens,
      },
      { signal },
    );
    let offset = 0;
    for (const row of chunk) {
      for (let t = 1; t < row.ids.length; t++) {
        if (row.lossMask[t]) {
          sum -= logp[offset + t - 1]!;
          tokens++;
        }
      }
      offset += row.ids.length - 1;
    }
  }
  return { 'held_out/nll': sum / tokens };
}
