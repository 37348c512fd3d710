type Metrics = Record<string, number>;

/** `stop` ends the run, `pause` asks its person first. */
export type Act = 'warn' | 'pause' | 'stop';

export interface Verdict {
  act: Act;
  message: string;
  hint: string;
}

/** One step, as rules see it. */
export interface Observed {
  metrics: Metrics;
  /** Of the step's answers, those that have one; none for examples. */
  rewards: readonly number[];
  /** Updates that the engine left out because something was not finite. */
  refused: number;
  /** Modules of the adapter that the updates so far have not moved, looked at once; null otherwise. */
  still: { names: string[]; of: number } | null;
}

export interface Seen {
  step: number;
  /** Metrics of steps 1, 2 ..., at most WINDOW of them. */
  early: readonly Metrics[];
  /** At most MEMORY steps, the one at hand last. */
  recent: readonly Observed[];
}

export interface Rule {
  /** Stable name of its events. */
  code: string;
  judge(seen: Seen): Verdict | null;
  /** What is said once it holds no longer; absent where it ends the run. */
  over?: string;
}

export const WINDOW = 10;
export const MEMORY = 20;

/** Limits and reports behind them: shared/algorithms/metrics.ts says what each metric is. */
export const RULES: readonly Rule[] = [
  {
    code: 'non_finite',
    judge: nonFinite,
    over: 'Loss and gradient have been finite again for some time.',
  },
  { code: 'adapter_still', judge: adapterStill },
  {
    code: 'sampler_mismatch',
    judge: samplerMismatch,
    over: 'Sampler and trainer agree again.',
  },
  {
    code: 'constant_reward',
    judge: constantReward,
    over: 'Rewards differ between answers again.',
  },
  {
    code: 'zero_variance',
    judge: zeroVariance,
    over: 'Most groups have answers with different rewards again.',
  },
  {
    code: 'truncated',
    judge: truncated,
    over: 'Few answers are cut off now.',
  },
  {
    code: 'entropy_low',
    judge: entropyLow,
    over: 'Entropy is back near the first step.',
  },
  {
    code: 'entropy_high',
    judge: entropyHigh,
    over: 'Entropy is back near the first step.',
  },
  {
    code: 'kl_growth',
    judge: klGrowth,
    over: 'The distance from the base model is steady again.',
  },
  {
    code: 'same_answers',
    judge: sameAnswers,
    over: 'Different prompts get different answers again.',
  },
  {
    code: 'longer_for_nothing',
    judge: longerForNothing,
    over: 'Answers are shorter again, or the reward has risen with them.',
  },
];

function nonFinite({ recent }: Seen): Verdict | null {
  if (recent.at(-1)!.refused === 0) return null;
  const hint = 'A lower learning rate usually helps, or smaller rewards.';
  const refused = recent.reduce((sum, { refused: count }) => sum + count, 0);
  if (refused === 1)
    return warn('Loss or gradient was not finite; this update was left out and changed nothing.', hint);
  return {
    act: 'stop',
    message: `Loss or gradient was not finite ${refused} times within ${MEMORY} steps: the run ends here.`,
    hint: `What was saved before is kept. ${hint}`,
  };
}

function adapterStill({ recent }: Seen): Verdict | null {
  const { still } = recent.at(-1)!;
  if (!still || still.names.length === 0) return null;
  return {
    act: 'stop',
    message: `The adapter is not learning: the updates have left ${still.names.length} of its ${still.of} modules as they were, the first ${still.names[0]}.`,
    hint: 'Other LoRA targets may help; else this is a fault of the engine.',
  };
}

/** Only the first update of a step is made by the policy that sampled. */
function samplerMismatch({ recent }: Seen): Verdict | null {
  const gaps = recent.map(({ metrics }) => metrics['policy/sampler_mismatch'] ?? NaN);
  const gap = gaps.at(-1)!;
  if (gaps.length >= 3 && gaps.slice(-3).every((value) => value > 0.5)) {
    return {
      act: 'stop',
      message: `Sampler and trainer disagree by ${gap.toFixed(2)} nats a token for 3 steps: the ratios mean nothing.`,
      hint: 'A numerical fault of the engine or the device: the last checkpoint is kept; try another device.',
    };
  }
  const off = now(recent, 'policy/off_sampler');
  if (!(gap > 0.02) && !(off > 0.1)) return null;
  const share = Number.isFinite(off) ? `; ${percent(off)} of the tokens by more than 10 %` : '';
  return warn(
    `Sampler and trainer disagree by ${gap.toFixed(3)} nats a token${share}.`,
    'Before a step is learnt they should agree: a numerical fault of the engine or the device.',
  );
}

/** At once where it was never otherwise; later a mastered task has such a step now and then. */
function constantReward({ recent }: Seen): Verdict | null {
  const last = recent.filter(({ rewards }) => rewards.length > 0).slice(-3);
  if (last.at(-1) !== recent.at(-1) || !last.every(({ rewards }) => isConstant(rewards))) return null;
  const { rewards } = recent.at(-1)!;
  const value = rewards[0]!;
  return warn(
    `All ${rewards.length} answers of the step got the same reward, ${value}: nothing can be learnt from them.`,
    value > 0
      ? 'The reward may not depend on the answer, or the task is mastered: read the answers in Rollouts.'
      : 'The reward may look in the wrong place, or the task is too hard: test it on real samples, and read the answers in Rollouts.',
  );
}

const isConstant = (rewards: readonly number[]) =>
  rewards.length > 1 && rewards.every((reward) => reward === rewards[0]);

function zeroVariance({ recent }: Seen): Verdict | null {
  if (recent.length < WINDOW) return null;
  const share = lately(recent, 'reward/zero_variance');
  if (!(share > 0.5)) return null;
  return warn(
    `In ${percent(share)} of the groups of the last ${WINDOW} steps all answers got the same reward: they teach nothing.`,
    lately(recent, 'reward/mean') > 0.5
      ? 'The task may have become too easy: harder prompts, or stop here.'
      : 'The task may be too hard, or the reward too coarse: partial credit, easier prompts, a higher temperature, or larger groups.',
  );
}

function truncated({ recent }: Seen): Verdict | null {
  const share = now(recent, 'rollout/truncated');
  if (!(share > 0.25)) return null;
  return warn(
    `${percent(share)} of the answers were cut off at the length limit.`,
    'Raise the longest answer.',
  );
}

/**
 * Of all answers: `policy/entropy` has only those of groups with contrast, the hardest ones at the end. And of some
 * steps: where it is small one undecided answer makes a step's.
 */
function entropyLow({ early, recent }: Seen): Verdict | null {
  const share = lately(recent, 'rollout/entropy') / first(early, 'rollout/entropy');
  if (!(share < 0.2)) return null;
  return warn(
    `Entropy has fallen to ${percent(share)} of the first step's in the last ones: answers are becoming alike.`,
    'A lower learning rate or a small entropy bonus keeps variety.',
  );
}

function entropyHigh({ early, recent }: Seen): Verdict | null {
  const times = lately(recent, 'rollout/entropy') / first(early, 'rollout/entropy');
  if (!(times > 2) || times === Infinity) return null;
  return warn(
    `Entropy has risen to ${times.toFixed(1)} times the first step's in the last ones: the text may be breaking down.`,
    'A lower learning rate usually helps.',
  );
}

function klGrowth({ recent }: Seen): Verdict | null {
  const kl = now(recent, 'policy/kl');
  const hint =
    'A lower learning rate or more pull to the base model holds it; read the newest answers in Rollouts.';
  if (kl > 1) return warn(`The policy is ${kl.toFixed(2)} nats a token away from the base model.`, hint);
  const before = lately(recent.slice(0, -1), 'policy/kl');
  if (recent.length <= WINDOW / 2 || !(kl > 0.05) || !(kl > 4 * before)) return null;
  return warn(
    `The distance from the base model has jumped from ${before.toFixed(3)} to ${kl.toFixed(3)} nats a token.`,
    hint,
  );
}

/** One text that pleases the reward whatever was asked. Some tasks have few answers: the first step tells. */
function sameAnswers({ early, recent }: Seen): Verdict | null {
  if (recent.length < WINDOW) return null;
  const share = lately(recent, 'rollout/duplicates');
  const before = first(early, 'rollout/duplicates');
  if (!(share > 0.5) || !(share > 2 * before)) return null;
  return warn(
    `${percent(share)} of the answers were given to different prompts word for word; in the first step ${percent(before)}.`,
    'The policy may have found one text that the reward likes: read the best answers in Rollouts.',
  );
}

function longerForNothing({ step, early, recent }: Seen): Verdict | null {
  if (step < 2 * WINDOW || recent.length < WINDOW) return null;
  const times = lately(recent, 'rollout/length') / first(early, 'rollout/length');
  if (!(times > 2)) return null;
  const gain = lately(recent, 'reward/mean') - mean(early.map((m) => m['reward/mean'] ?? NaN));
  const spread = mean(early.map((m) => m['reward/std'] ?? NaN));
  if (gain > 0.1 * spread) return null;
  return warn(
    `Answers have become ${times.toFixed(1)} times as long as in the first step, and the reward has not risen.`,
    'Another weight of long answers, or a reward that counts length, stops it.',
  );
}

function warn(message: string, hint: string): Verdict {
  return { act: 'warn', message, hint };
}

const now = (recent: readonly Observed[], key: string) => recent.at(-1)!.metrics[key] ?? NaN;

/** The first value there is: the first step may have had nothing to measure. */
const first = (early: readonly Metrics[], key: string) =>
  early.map((metrics) => metrics[key] ?? NaN).find((value) => Number.isFinite(value)) ?? NaN;

const lately = (recent: readonly Observed[], key: string) =>
  mean(recent.slice(-WINDOW).map(({ metrics }) => metrics[key] ?? NaN));

function mean(values: number[]): number {
  const finite = values.filter((value) => Number.isFinite(value));
  return finite.length === 0 ? NaN : finite.reduce((sum, value) => sum + value, 0) / finite.length;
}

export function percent(share: number): string {
  return `${Math.round(share * 100)} %`;
}
