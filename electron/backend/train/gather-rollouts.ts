import type { AdapterId, GeneratedRow } from '../../../native/face';
import type { Judgement, Needs } from '../../../shared/algorithms';
import type { NewGroup, NewRollout } from '../store';
import type { Gathered } from './gathered';
import type { PromptRow, Sample, Score, TrainJob } from './job';
import type { ProgressMeter } from './progress';
import type { TrainRow } from './batch';
import { draw } from './random';

interface Answer {
  group: number;
  index: number;
  prompt: PromptRow;
  row: GeneratedRow;
  completion: string;
}

/** Samples answers to a step's prompts, rewards and compares them. */
export async function gatherRollouts(
  job: TrainJob,
  needs: Needs,
  adapter: AdapterId,
  step: number,
  prompts: PromptRow[],
  meter: ProgressMeter,
  signal: AbortSignal,
): Promise<Gathered> {
  const total = prompts.length * needs.groupSize;
  meter.phase('rollout', step, 0, total);
  const generated = await job.engine.generate(
    {
      model: job.model.id,
      adapter,
      prompts: prompts.map((prompt) => prompt.ids),
      samplesPerPrompt: needs.groupSize,
      maxNewTokens: needs.maxNewTokens ?? 512,
      temperature: needs.temperature ?? 1,
      stopIds: job.text.stopIds,
      seed: draw(job.config.seed, 'rollout', step),
    },
    { signal, onProgress: ({ finished }) => meter.phase('rollout', step, finished, total) },
  );
  signal.throwIfAborted();
  const answers = await Promise.all(
    generated.rows.map(async (row, k): Promise<Answer> => ({
      group: row.prompt,
      index: k % needs.groupSize,
      prompt: prompts[row.prompt]!,
      row,
      completion: await job.text.decode(row.ids),
    })),
  );

  meter.phase('reward', step, 0, total);
  const samples: Sample[] = answers.map((answer, index) => ({
    prompt: answer.prompt,
    completion: answer.completion,
    ids: answer.row.ids,
    index,
  }));
  const scores = await job.scorer!.score(
    samples,
    { seed: draw(job.config.seed, 'reward', step), step },
    signal,
  );
  signal.throwIfAborted();
  meter.phase('reward', step, total, total);

  const judgement = job.algorithm.advantages!(
    {
      reward: scores.map((score) => score.reward),
      group: answers.map((answer) => answer.group),
      truncated: answers.map((answer) => answer.row.finish === 'length'),
    },
    job.params,
  );
  const kept = answers.flatMap((answer, k) => trainRow(answer, judgement, k) ?? []);
  if (needs.roles.includes('reference')) await addReference(job, needs, kept, signal);
  return {
    rows: kept,
    groups: prompts.map((prompt, group): NewGroup => ({
      group,
      line: prompt.line,
      prompt: prompt.text,
      answer: prompt.answer,
    })),
    rollouts: answers.map((answer, k) => stored(job, answer, scores[k]!, judgement, k)),
    metrics: {
      ...rewardMetrics(scores),
      ...judgement.metrics,
      'rollout/length': mean(answers.map((answer) => answer.row.ids.length)),
      'rollout/duplicates': duplicates(answers),
      'rollout/truncated': mean(answers.map((answer) => (answer.row.finish === 'length' ? 1 : 0))),
      'perf/rollout_tokens_per_s': generated.tokens / generated.seconds,
    },
    failed: scores.filter((score) => !fine(score)).length,
    firstFailure: describeFailure(answers, scores),
    alive: judgement.use.some((use) => use !== 'drop'),
    total,
  };
}

const fine = (score: Score) => score.status === 'ok' || score.status === 'abstain';

function trainRow(answer: Answer, judgement: Judgement, k: number): TrainRow | null {
  const use = judgement.use[k]!;
  if (use === 'drop') return null;
  const prompt = answer.prompt.ids;
  const { ids, logprob } = answer.row;
  const all = new Int32Array(prompt.length + ids.length);
  all.set(prompt);
  all.set(ids, prompt.length);
  // target t is token t + 1: the first completion token is target prompt.length - 1
  const first = prompt.length - 1;
  const samplerLogp = new Float32Array(all.length - 1);
  samplerLogp.set(logprob, first);
  return {
    ids: all,
    group: answer.group,
    use,
    loss: new Uint8Array(all.length - 1).fill(judgement.learns[k] ? 1 : 0, first),
    advantage: judgement.advantage[k]!,
    samplerLogp,
    refLogp: null,
  };
}

/** Log-probabilities of the base model, at the trainer's temperature. */
async function addReference(
  job: TrainJob,
  needs: Needs,
  rows: TrainRow[],
  signal: AbortSignal,
): Promise<void> {
  if (rows.length === 0) return;
  const { logp } = await job.engine.score(
    {
      model: job.model.id,
      adapter: null,
      rows: {
        ids: Int32Array.from(rows.flatMap((row) => Array.from(row.ids))),
        lengths: Int32Array.from(rows.map((row) => row.ids.length)),
      },
      temperature: needs.temperature ?? 1,
      microTokens: job.microTokens,
    },
    { signal },
  );
  let offset = 0;
  for (const row of rows) {
    row.refLogp = logp.slice(offset, offset + row.ids.length - 1);
    offset += row.ids.length - 1;
  }
}

function stored(job: TrainJob, answer: Answer, score: Score, judgement: Judgement, k: number): NewRollout {
  const { ids, logprob, finish } = answer.row;
  return {
    group: answer.group,
    index: answer.index,
    completion: answer.completion,
    reward: score.reward,
    status: score.status,
    error: score.error,
    milliseconds: score.milliseconds,
    rewardHash: job.scorer!.hash,
    advantage: score.reward === null ? null : judgement.advantage[k]!,
    length: ids.length,
    finish,
    meanLogp: mean(Array.from(logprob)),
    ...(job.settings.storeTokens ? { ids, logp: logprob } : {}),
  };
}

function rewardMetrics(scores: Score[]): Record<string, number> {
  const rewards = scores.flatMap((score) => (score.reward === null ? [] : [score.reward]));
  const average = mean(rewards);
  return {
    'reward/mean': average,
    'reward/std': Math.sqrt(mean(rewards.map((reward) => (reward - average) ** 2))),
    'reward/failed': mean(scores.map((score) => (fine(score) ? 0 : 1))),
  };
}

/** Share of the answers that another prompt of the step got too, word for word; NaN where there is but one. */
function duplicates(answers: Answer[]): number {
  const prompts = new Map<string, Set<string>>();
  for (const { completion, prompt } of answers) {
    const askedBy = prompts.get(completion) ?? new Set();
    prompts.set(completion, askedBy.add(prompt.text));
  }
  if (new Set(answers.map(({ prompt }) => prompt.text)).size < 2) return NaN;
  return mean(answers.map(({ completion }) => (prompts.get(completion)!.size > 1 ? 1 : 0)));
}

function describeFailure(answers: Answer[], scores: Score[]): string | null {
  const k = scores.findIndex((score) => !fine(score));
  if (k < 0) return null;
  const input = answers[k]!.completion.slice(0, 80).replace(/\s+/g, ' ');
  return `The first: ${scores[k]!.error ?? scores[k]!.status} (data line ${answers[k]!.prompt.line}, answer "${input}").`;
}

function mean(values: number[]): number {
  return values.length === 0 ? NaN : values.reduce((sum, value) => sum + value, 0) / values.length;
}
