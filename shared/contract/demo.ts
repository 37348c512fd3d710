import type { RunConfigInput } from './runs';

/** The run that Home, `npm run demo` and the bench start: everything in it comes with the app. */
export const demo = {
  format: 1,
  name: 'Demo: learn to carry',
  algorithm: 'grpo',
  model: 'abacus',
  data: {
    dataset: 'sums',
    mapping: { prompt: 'prompt', answer: 'answer' },
    heldOut: { dataset: 'sums-held-out', rows: 256 },
  },
  reward: { id: 'sums' },
  params: {
    steps: 80,
    prompts: 8,
    groupSize: 8,
    maxNewTokens: 64,
    learningRate: 2e-4,
    loraRank: 16,
    loraAlpha: 32,
  },
  checkpointEvery: 20,
} as const satisfies RunConfigInput;
