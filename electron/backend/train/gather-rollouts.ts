import type { Judgement, Needs } from '../../../shared/algorithms';
import type { NewGroup } from '../store';
import { answerMetrics, describeFailure, failed, stored, type Answer } from './answers';
import type { TrainRow } from './batch';
import type { Gathered } from './gathered';
import type { PromptRow, RowList } from '../datasets';
import type { TrainJob, Weights } from './job';
import type { ProgressMeter } from './progress';
import type { Plan } from './plan';
import type { Policy } from './policy';
import { draw } from './random';
import { sampleAnswers } from './sample-answers';
import { addLogps, referenceOf, scoreRows, valueRows } from './score-rows';
import type { TimedJob } from './timeline';
import { firstTarget, onAnswer, sampledTrainRow, wholeRow } from './train-row';

interface Round {
  answers: Answer[];
  tokens: number;
  seconds: number;
}

/** Samples answers to a step's prompts, rewards and compares them. */
export async function gatherRollouts(
  job: TimedJob,
  plan: Plan,
  policy: Policy,
  step: number,
  meter: ProgressMeter,
  signal: AbortSignal,
): Promise<Gathered> {
  const { needs } = plan;
  const rows = job.data.rows as RowList<PromptRow>;
  const rounds: Round[] = [];
  let answers: Answer[] = [];
  let judgement!: Judgement;
  let others: OtherRoles = {};
  for (let round = 0; round <= (needs.resample ?? 0); round++) {
    const chosen = round === 0 ? plan.order.step(step) : plan.order.extra(step, round);
    if (chosen.length === 0) break;
    const prompts = chosen.map((k) => rows.at(k)!);
    rounds.push(await sampleRound(job, needs, policy.weights, { step, round }, prompts, meter, signal));
    answers = rounds.flatMap((r) => r.answers);
    others = await otherRoles(job, needs, policy, answers, signal);
    judgement = await job.clock.during('rows', () => judge(job, answers, others));
    if (!needs.resample || contrasts(answers, judgement).size >= needs.prompts) break;
  }
  const sampled = answers;
  const sampledGroups = new Set(sampled.map(({ group }) => group)).size;
  if (sampledGroups > needs.prompts) {
    const kept = keptGroups(answers, judgement, needs.prompts);
    const those = <X>(values: X[] | undefined) => values?.filter((_, k) => kept.has(answers[k]!.group));
    others = { refLogp: those(others.refLogp), value: those(others.value) };
    answers = answers.filter(({ group }) => kept.has(group));
    judgement = await job.clock.during('rows', () => judge(job, answers, others));
  }

  const kept = await job.clock.during('rows', () => trainRows(answers, judgement, others));
  await addLogps(job, plan.program, needs, policy, kept, signal);
  const sum = (of: (round: Round) => number) => rounds.reduce((total, round) => total + of(round), 0);
  return {
    rows: kept,
    groups: [...new Map(answers.map((answer) => [answer.group, answer.of]))].map(
      ([group, prompt]): NewGroup => ({
        group,
        line: prompt.line,
        prompt: prompt.text,
        answer: prompt.answer,
      }),
    ),
    rollouts: answers.map((answer, k) => stored(job, answer, judgement, k)),
    metrics: {
      // of all: what was kept is chosen by its rewards
      ...answerMetrics(sampled),
      ...judgement.metrics,
      ...(needs.resample ? { 'rollout/sampled_groups': sampledGroups } : {}),
      'perf/rollout_tokens_per_s': sum((round) => round.tokens) / sum((round) => round.seconds),
    },
    failed: sampled.filter(failed).length,
    firstFailure: describeFailure(sampled),
    alive: judgement.use.some((use) => use !== 'drop'),
    total: sampled.length,
  };
}

/** The answers that are learnt from, or counted, as the trainer takes them. */
function trainRows(answers: Answer[], judgement: Judgement, others: OtherRoles): TrainRow[] {
  return answers.flatMap((answer, k) => {
    const use = judgement.use[k]!;
    if (use === 'drop') return [];
    const { group } = answer;
    const row = sampledTrainRow(answer, {
      group,
      use,
      learns: judgement.learns[k]!,
      advantage: judgement.advantage[k]!,
    });
    for (const [name, values] of [
      ['refLogp', others.refLogp],
      ['oldValue', others.value],
      ['returns', judgement.returns],
    ] as const)
      if (values) row.values[name] = onAnswer(answer, values[k]!);
    return [row];
  });
}

/** One round of answers with their rewards; groups are numbered on from round to round. */
async function sampleRound(
  job: TimedJob,
  needs: Needs,
  weights: Weights,
  { step, round }: { step: number; round: number },
  prompts: PromptRow[],
  meter: ProgressMeter,
  signal: AbortSignal,
): Promise<Round> {
  const total = prompts.length * needs.groupSize;
  meter.phase('rollout', step, 0, total);
  const { rows, completions, scores, tokens, seconds } = await sampleAnswers(
    job,
    {
      weights,
      prompts,
      samplesPerPrompt: needs.groupSize,
      maxNewTokens: needs.maxNewTokens ?? 512,
      temperature: needs.temperature ?? 1,
      seed: draw(job.config.seed, 'rollout', step, round),
      firstIndex: round * needs.prompts * needs.groupSize,
      key: { seed: draw(job.config.seed, 'reward', step), step },
    },
    {
      signal,
      onSampled: (count) => meter.phase('rollout', step, count, total),
      onScored: (count) => meter.phase('reward', step, count, total),
    },
  );
  return {
    tokens,
    seconds,
    answers: rows.map((row, k): Answer => ({
      group: round * needs.prompts + row.prompt,
      index: k % needs.groupSize,
      of: prompts[row.prompt]!,
      prompt: prompts[row.prompt]!.ids,
      ids: row.ids,
      logprob: row.logprob,
      finish: row.finish,
      completion: completions[k]!,
      score: scores[k]!,
    })),
  };
}

/** What other roles than the policy say of each answer, by token. */
type OtherRoles = Partial<Record<'refLogp' | 'value', Float32Array[] | undefined>>;

async function otherRoles(
  job: TrainJob,
  needs: Needs,
  policy: Policy,
  answers: Answer[],
  signal: AbortSignal,
): Promise<OtherRoles> {
  const rows = answers.map(wholeRow);
  const ofAnswers = (all: Float32Array[]) => all.map((one, k) => one.slice(firstTarget(answers[k]!)));
  return {
    ...(needs.judgesReference && {
      refLogp: ofAnswers(await scoreRows(job, referenceOf(policy), rows, needs.temperature ?? 1, signal)),
    }),
    ...(policy.critic && { value: ofAnswers(await valueRows(job, policy.critic.weights, rows, signal)) }),
  };
}

async function judge(job: TrainJob, answers: Answer[], { refLogp, value }: OtherRoles): Promise<Judgement> {
  return job.algorithm.advantages!(
    {
      reward: answers.map(({ score }) => score.reward),
      group: answers.map(({ group }) => group),
      truncated: answers.map(({ finish }) => finish === 'length'),
      length: answers.map(({ ids }) => ids.length),
      samplerLogp: answers.map(({ logprob }) => logprob),
      ...(refLogp && { refLogp }),
      ...(value && { value }),
    },
    job.params,
  );
}

/** Groups that rewards teach something; a pull to the base model, say, acts on the others as well. */
const contrasts = (answers: Answer[], { use, learns, advantage }: Judgement): Set<number> =>
  new Set(
    answers.filter((_, k) => use[k] !== 'drop' && learns[k] && advantage[k] !== 0).map(({ group }) => group),
  );

/** The first groups with contrast, filled up with others where there are too few. */
function keptGroups(answers: Answer[], judgement: Judgement, count: number): Set<number> {
  const live = contrasts(answers, judgement);
  const all = [...new Set(answers.map(({ group }) => group))];
  return new Set([...all.filter((g) => live.has(g)), ...all.filter((g) => !live.has(g))].slice(0, count));
}
