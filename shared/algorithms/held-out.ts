import type { MetricInfo, Needs } from './algorithm';

const NLL: MetricInfo = {
  key: 'held_out/nll',
  label: 'Loss per token',
  unit: 'nats',
  help: 'How surprised the model is by the next token of the answers, on average.',
  better: 'down',
};
const ACCURACY: MetricInfo = {
  key: 'held_out/accuracy',
  label: 'Pairs told apart',
  unit: '%',
  help: 'Pairs in which the policy gives the better answer more than the worse. What it gives the same counts half.',
  better: 'up',
};
const MARGIN: MetricInfo = {
  key: 'held_out/margin',
  label: 'Margin of good over bad',
  unit: 'nats',
  help: 'How much more likely the policy makes good answers than bad ones, against the base model where it is the reference.',
  better: 'up',
};

/** What is measured on rows that are never trained on, by what an algorithm learns from; the first stands for a run. */
export const HELD_OUT_METRICS: Record<Needs['data'], readonly [MetricInfo, ...MetricInfo[]]> = {
  rollouts: [
    {
      key: 'held_out/sampled',
      label: 'Reward, sampled',
      unit: '',
      help: 'Mean reward of answers sampled at the run’s temperature.',
      better: 'up',
    },
    {
      key: 'held_out/greedy',
      label: 'Reward, greedy',
      unit: '',
      help: 'Mean reward of the likeliest answers.',
      better: 'up',
    },
  ],
  examples: [NLL],
  pairs: [ACCURACY, MARGIN],
  rated: [MARGIN],
};
