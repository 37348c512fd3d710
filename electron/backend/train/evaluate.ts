import type { Needs } from '../../../shared/algorithms';
import { heldOutRows } from './held-out-rows';
import type { TrainJob } from './job';
import type { Policy } from './policy';
import type { ProgressMeter } from './progress';
import { draw } from './random';
import { scoreAnswers } from './score-answers';

/** Held-out measures of the policy. The same prompts and random keys before and after: only the policy differs. */
export async function evaluate(
  job: TrainJob,
  needs: Needs,
  policy: Policy,
  step: number,
  meter: ProgressMeter,
  signal: AbortSignal,
): Promise<Record<string, number>> {
  const { data } = job;
  if (data.kind !== 'rollouts') return heldOutRows(job, needs, policy, step, meter, signal);
  const total = 2 * data.heldOut.length;
  const measure = async (temperature: number, done: number) => {
    const { rows } = await job.engine.generate(
      {
        ...policy.weights,
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
        prompt: data.heldOut[row.prompt]!,
        completion: await job.text.decode(row.ids),
        ids: row.ids,
        index,
      })),
    );
    const scores = await scoreAnswers(
      job.rewards,
      samples,
      rows.map((row) => row.prompt),
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
