import type { GeneratedRow } from '../../../native/face';
import type { Judgement } from '../../../shared/algorithms';
import type { NewRollout } from '../store';
import type { PromptRow } from '../datasets';
import type { Score, TrainJob } from './job';
import { rewardHash } from './reward-sum';
import type { SampledRow } from './train-row';

/** A sampled and rewarded answer. */
export interface Answer extends SampledRow {
  group: number;
  index: number;
  of: PromptRow;
  finish: GeneratedRow['finish'];
  completion: string;
  score: Score;
}

/** Its reward gave no number, and did not mean to. */
export const failed = ({ score }: Answer): boolean => score.status !== 'ok' && score.status !== 'abstain';

/** As the run's store keeps it. */
export function stored(job: TrainJob, answer: Answer, judgement: Judgement, k: number): NewRollout {
  const { ids, logprob, finish, score } = answer;
  const advantage = judgement.advantage[k]!;
  return {
    group: answer.group,
    index: answer.index,
    completion: answer.completion,
    reward: score.reward,
    status: score.status,
    error: score.error,
    milliseconds: score.milliseconds,
    rewardHash: rewardHash(job.rewards),
    ...(score.components ? { components: score.components } : {}),
    advantage: score.reward === null ? null : typeof advantage === 'number' ? advantage : mean(advantage),
    length: ids.length,
    finish,
    meanLogp: mean(logprob),
    ...(job.settings.storeTokens ? { ids, logp: logprob } : {}),
  };
}

/** What is told of a step's answers, whatever the algorithm makes of them. */
export function answerMetrics(answers: Answer[]): Record<string, number> {
  const rewards = answers.flatMap(({ score }) => (score.reward === null ? [] : [score.reward]));
  const average = mean(rewards);
  return {
    'reward/mean': average,
    'reward/std': Math.sqrt(mean(rewards.map((reward) => (reward - average) ** 2))),
    ...componentMeans(answers),
    'reward/failed': mean(answers.map((answer) => (failed(answer) ? 1 : 0))),
    'rollout/length': mean(answers.map(({ ids }) => ids.length)),
    'rollout/duplicates': duplicates(answers),
    'rollout/entropy': entropy(answers),
    'rollout/truncated': mean(answers.map(({ finish }) => (finish === 'length' ? 1 : 0))),
  };
}

/** Mean of each part of the sum, before its weight, over the answers that it has a number for. */
function componentMeans(answers: Answer[]): Record<string, number> {
  const names = answers[0]?.score.components?.map(({ name }) => name) ?? [];
  return Object.fromEntries(
    names.map((name, r) => {
      const parts = answers.map(({ score }) => score.components![r]!.reward);
      return [`reward/${name}`, mean(parts.filter((reward) => reward !== null))];
    }),
  );
}

/** Share of the answers that another prompt of the step got too, word for word; NaN where there is but one. */
function duplicates(answers: Answer[]): number {
  const prompts = new Map<string, Set<string>>();
  for (const { completion, of } of answers) {
    const askedBy = prompts.get(completion) ?? new Set();
    prompts.set(completion, askedBy.add(of.text));
  }
  if (new Set(answers.map(({ of }) => of.text)).size < 2) return NaN;
  return mean(answers.map(({ completion }) => (prompts.get(completion)!.size > 1 ? 1 : 0)));
}

/** Per token, estimated by what was drawn: an entropy is the mean of -log p under the policy itself. */
function entropy(answers: Answer[]): number {
  let sum = 0;
  let tokens = 0;
  for (const { logprob } of answers) {
    for (const logp of logprob) sum -= logp;
    tokens += logprob.length;
  }
  return sum / tokens;
}

export function describeFailure(answers: Answer[]): string | null {
  const first = answers.find(failed);
  if (!first) return null;
  const input = first.completion.slice(0, 80).replace(/\s+/g, ' ');
  return `The first: ${first.score.error ?? first.score.status} (data line ${first.of.line}, answer "${input}").`;
}

/** In place: a list made of a step's log-probabilities takes longer than all else that is done with its answers. */
function mean(values: ArrayLike<number>): number {
  let sum = 0;
  for (let k = 0; k < values.length; k++) sum += values[k]!;
  return values.length === 0 ? NaN : sum / values.length;
}
