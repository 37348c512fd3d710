import type { Needs } from '../../../shared/algorithms';
import { heldOutRows } from './held-out-rows';
import type { Policy } from './policy';
import type { ProgressMeter } from './progress';
import { draw } from './random';
import { sampleAnswers } from './sample-answers';
import type { TimedJob } from './timeline';

/** Held-out measures of the policy. The same prompts and random keys before and after: only the policy differs. */
export async function evaluate(
  job: TimedJob,
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
    const { scores } = await sampleAnswers(
      job,
      {
        weights: policy.weights,
        prompts: data.heldOut,
        samplesPerPrompt: 1,
        maxNewTokens: needs.maxNewTokens ?? 512,
        temperature,
        seed: draw(job.config.seed, 'heldOut', 0),
        firstIndex: 0,
        key: { seed: draw(job.config.seed, 'reward', 0), step: 0 },
      },
      {
        signal,
        onSampled: (count) => meter.phase('evaluate', step, done + count, total),
        onScored: () => undefined,
      },
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
