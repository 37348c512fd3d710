import { z } from 'zod';
import { field, type FieldText } from './fields';

/** Params of every algorithm that samples answers and rewards them. Defaults differ by algorithm. */
export const rolloutParams = (defaults: { prompts?: number; groupSize: number; leastInGroup: number }) => ({
  steps: field(z.int().min(1).max(100_000).default(250), {
    label: 'Steps',
    help: 'Each step samples answers, rewards them and updates the adapter. You can stop early and keep what was learnt.',
    level: 'simple',
    section: 'Length of training',
    step: 10,
  }),
  prompts: field(
    z
      .int()
      .min(1)
      .max(1024)
      .default(defaults.prompts ?? 4),
    {
      label: 'Prompts per step',
      help: 'How many different prompts each step looks at. More gives a steadier direction and takes longer.',
      level: 'simple',
      section: 'Rollouts',
      step: 1,
    },
  ),
  groupSize: field(z.int().min(defaults.leastInGroup).max(128).default(defaults.groupSize), {
    label: 'Answers per prompt',
    help:
      defaults.leastInGroup > 1
        ? 'Answers to the same prompt are compared with each other. At least 4; 8 and more find rare successes.'
        : 'Each answer is credited by itself, so that one is enough; more prompts teach more than more answers to each.',
    level: 'simple',
    section: 'Rollouts',
    step: 1,
  }),
  maxNewTokens: field(z.int().min(1).max(32_768).default(512), {
    label: 'Longest answer',
    help: 'An answer is cut off after this many tokens.',
    level: 'simple',
    section: 'Rollouts',
    unit: 'tokens',
    step: 16,
  }),
  temperature: field(z.number().min(0.05).max(4).default(1), {
    label: 'Temperature',
    help: 'How freely answers are sampled. 1 is what the method is made for; lower explores less.',
    level: 'advanced',
    section: 'Rollouts',
    step: 0.05,
  }),
  maskTruncated: field(z.boolean().default(true), {
    label: 'Do not learn from cut-off answers',
    help: 'Answers that hit the length limit still count in the comparison, but their tokens are not trained.',
    level: 'advanced',
    section: 'Rollouts',
  }),
  overlongBuffer: field(z.int().min(0).max(32_768).default(0), {
    label: 'Penalty for nearly too long',
    help: 'Over this many last tokens before the limit, up to 1 is taken off the reward, the more the longer. 0 turns it off.',
    level: 'advanced',
    section: 'Rollouts',
    unit: 'tokens',
    step: 16,
  }),
});

/** How the answers of a step are used. */
export const reuseParams = (defaults: { minibatches: number; passes?: number }) => ({
  minibatches: field(z.int().min(1).max(64).default(defaults.minibatches), {
    label: 'Updates per step',
    help: 'Splits the answers of a step into this many updates. More learns faster from the same answers, less exactly.',
    level: 'advanced',
    section: 'Learning',
    step: 1,
  }),
  passes: field(
    z
      .int()
      .min(1)
      .max(16)
      .default(defaults.passes ?? 1),
    {
      label: 'Passes over the answers',
      help: 'How often the answers of a step are used before new ones are sampled.',
      level: 'advanced',
      section: 'Learning',
      step: 1,
    },
  ),
});

/** `when`: where the bounds are asked for, if not always. */
export const clipParams = (
  defaults: { low: number; high: number },
  when: { low?: FieldText['when']; high?: FieldText['when'] } = {},
) => ({
  clipLow: field(z.number().min(0.00001).max(0.99).default(defaults.low), {
    label: 'Clip below',
    help: 'What was sampled stops being made less likely once its probability has fallen by this share since then.',
    ...(when.low && { when: when.low }),
    level: 'advanced',
    section: 'Objective',
    step: 0.01,
  }),
  clipHigh: field(z.number().min(0.00001).max(10).default(defaults.high), {
    label: 'Clip above',
    help: 'What was sampled stops being made more likely once its probability has risen by this share since then.',
    ...(when.high && { when: when.high }),
    level: 'advanced',
    section: 'Objective',
    step: 0.01,
  }),
});

const NORMALISATIONS = {
  dapo: 'Every token alike (DAPO)',
  grpo: 'Every answer alike (GRPO)',
  bnpo: 'Every token of an update alike (BNPO)',
  dr_grpo: 'By the longest allowed answer (Dr. GRPO)',
  luspo: 'Sum of an answer (LUSPO)',
};
export type Normalisation = keyof typeof NORMALISATIONS;

export const normalisationParam = (otherwise: Normalisation) => ({
  normalisation: field(z.enum(['dapo', 'grpo', 'bnpo', 'dr_grpo', 'luspo']).default(otherwise), {
    label: 'Weight of long answers',
    help: 'What the sum over tokens is divided by: it decides how much long and short answers count.',
    level: 'advanced',
    section: 'Objective',
    options: NORMALISATIONS,
  }),
});

export const scaleParam = () => ({
  scale: field(z.enum(['group', 'batch', 'none']).default('group'), {
    label: 'Scale of advantages',
    help: "Advantages are divided by the spread of the prompt's rewards, of the whole step's, or not at all.",
    level: 'advanced',
    section: 'Objective',
    options: { group: "By the prompt's spread", batch: "By the step's spread", none: 'Not scaled' },
  }),
});

/** KL to the base model in the loss, and an entropy bonus. */
export const regularisationParams = () => ({
  beta: field(z.number().min(0).max(10).default(0), {
    label: 'Pull to the base model',
    help: 'Weight of the KL divergence from the base model. 0 is usual and faster; 0.01 to 0.1 keeps the text closer.',
    level: 'advanced',
    section: 'Objective',
    step: 0.001,
  }),
  entropyBonus: field(z.number().min(0).max(1).default(0), {
    label: 'Entropy bonus',
    help: 'Rewards uncertainty, against answers becoming all alike. 0 is usual; try 0.001.',
    level: 'advanced',
    section: 'Objective',
    step: 0.001,
  }),
});

/** KL to the base model taken off the reward. */
export const rewardKlParam = (otherwise: number) => ({
  klInReward: field(z.number().min(0).max(10).default(otherwise), {
    label: 'KL taken off the reward',
    help: 'The distance from the base model, times this, is taken off the reward. 0 turns it off and is faster.',
    level: 'advanced',
    section: 'Objective',
    step: 0.01,
  }),
});

/** A penalty that begins before the answer would be taken off every answer. */
export const bufferFits = {
  check: (p: { overlongBuffer: number; maxNewTokens: number }) => p.overlongBuffer <= p.maxNewTokens,
  fault: { path: ['overlongBuffer'], error: 'cannot be more tokens than the longest answer has' },
};

/** Updates must not outnumber prompts: a group stays in one of them. */
export const groupsStayWhole = {
  check: (p: { minibatches: number; prompts: number }) => p.minibatches <= p.prompts,
  fault: {
    path: ['minibatches'],
    error: 'cannot be more than the prompts of a step: a group stays in one update',
  },
};
