import type { MetricInfo } from './algorithm';

/** What policy-gradient programs report. */
export const POLICY_METRICS: MetricInfo[] = [
  {
    key: 'policy/kl',
    label: 'Distance from the base model',
    unit: 'nats',
    help: 'KL divergence from the base model per token, where it is held close to it. Grows as the policy learns; a jump is a warning.',
    better: null,
  },
  {
    key: 'policy/entropy',
    label: 'Entropy',
    unit: 'nats',
    help: 'How many continuations the policy still considers. Falling to near 0 means that all answers become alike. Measured where the policy learns: answers of groups without contrast, and cut-off ones that are not learnt from, are not in it.',
    better: null,
  },
  {
    key: 'policy/clip_low',
    label: 'Clipped below',
    unit: '%',
    help: 'Tokens whose probability had already fallen as far as one step allows. Usually below 5 %.',
    better: null,
  },
  {
    key: 'policy/clip_high',
    label: 'Clipped above',
    unit: '%',
    help: 'Tokens whose probability had already risen as far as one step allows. Usually below 5 %.',
    better: null,
  },
  {
    key: 'policy/ratio',
    label: 'Ratio to the sampler',
    unit: '',
    help: 'Mean ratio of probabilities now to those when the answers were sampled. Stays near 1.',
    better: null,
  },
  {
    key: 'policy/sampler_mismatch',
    label: 'Difference to the sampler',
    unit: 'nats',
    help: 'Mean difference of log-probabilities between trainer and sampler. Near 0 in the first update of a step; more means a numerical fault.',
    better: 'down',
  },
  {
    key: 'policy/off_sampler',
    label: 'Tokens off the sampler',
    unit: '%',
    help: 'Tokens whose probability differs by more than 10 % from when they were sampled.',
    better: 'down',
  },
];

export const ENTROPY_METRIC: MetricInfo = {
  key: 'policy/entropy',
  label: 'Entropy',
  unit: 'nats',
  help: 'How many continuations the model still considers. It falls as the model grows sure of itself.',
  better: null,
};

/** What algorithms that compare the answers to one prompt report. */
export const GROUP_METRICS: MetricInfo[] = [
  {
    key: 'reward/zero_variance',
    label: 'Groups without contrast',
    unit: '%',
    help: 'Prompts whose answers all got the same reward: nothing can be learnt from them. Much of it means that the task is too easy or too hard.',
    better: 'down',
  },
  {
    key: 'reward/dropped_groups',
    label: 'Groups left out',
    unit: '',
    help: 'Prompts with fewer than two rewarded answers, because the reward failed or abstained.',
    better: 'down',
  },
];

/** What every run reports, whatever its algorithm. */
export const COMMON_METRICS: MetricInfo[] = [
  {
    key: 'train/loss',
    label: 'Loss',
    unit: '',
    help: 'What is minimised. In reinforcement learning it stays near 0 by construction: look at the reward instead.',
    better: null,
  },
  {
    key: 'train/grad_norm',
    label: 'Gradient norm',
    unit: '',
    help: 'Size of the gradient before clipping. Spikes tell of a learning rate that is too high.',
    better: null,
  },
  { key: 'train/lr', label: 'Learning rate', unit: '', help: 'The rate of the last update.', better: null },
  {
    key: 'train/tokens',
    label: 'Tokens learnt from',
    unit: 'tokens',
    help: 'Tokens in the loss of the step.',
    better: null,
  },
  {
    key: 'perf/step_seconds',
    label: 'Time per step',
    unit: 's',
    help: 'Rollout, reward and training together.',
    better: 'down',
  },
  {
    key: 'perf/train_tokens_per_s',
    label: 'Training speed',
    unit: 'tokens/s',
    help: 'Tokens forwarded and differentiated in a second.',
    better: 'up',
  },
  {
    key: 'perf/peak_bytes',
    label: 'Peak memory',
    unit: 'bytes',
    help: 'Most memory that the engine held in the step.',
    better: 'down',
  },
];

/** What every run on rollouts reports beside. */
export const ROLLOUT_METRICS: MetricInfo[] = [
  {
    key: 'reward/mean',
    label: 'Reward',
    unit: '',
    help: "Mean reward of the step's answers. This is what should rise.",
    better: 'up',
  },
  {
    key: 'reward/std',
    label: 'Spread of rewards',
    unit: '',
    help: "Standard deviation of the step's rewards. Without spread nothing can be learnt.",
    better: null,
  },
  {
    key: 'reward/failed',
    label: 'Rewards failed',
    unit: '%',
    help: 'Answers for which the reward threw, ran out of time or gave no number.',
    better: 'down',
  },
  {
    key: 'rollout/length',
    label: 'Answer length',
    unit: 'tokens',
    help: 'Mean length of the answers.',
    better: null,
  },
  {
    key: 'rollout/entropy',
    label: 'Entropy of all answers',
    unit: 'nats',
    help: 'How undecided the policy was, per token, while it sampled; estimated from the probabilities of what it took. Falling to near 0, all answers become alike; rising far, the text breaks down.',
    better: null,
  },
  {
    key: 'rollout/duplicates',
    label: 'Same answer to other prompts',
    unit: '%',
    help: 'Answers that another prompt of the step got too, word for word. Rising to nearly all, one text pleases the reward whatever is asked.',
    better: 'down',
  },
  {
    key: 'rollout/truncated',
    label: 'Cut off',
    unit: '%',
    help: 'Answers that hit the length limit. Above a quarter, raise the limit.',
    better: 'down',
  },
  {
    key: 'perf/rollout_tokens_per_s',
    label: 'Sampling speed',
    unit: 'tokens/s',
    help: 'New tokens sampled in a second.',
    better: 'up',
  },
];
