import type { RunConfigInput } from './runs';

/** The run that Home, `npm run demo` and the bench start: everything in it comes with the app. */
export const demo = {
  format: 2,
  name: 'Demo: learn to carry',
  algorithm: 'grpo',
  model: 'abacus',
  data: {
    dataset: 'sums',
    mapping: { prompt: 'prompt', answer: 'answer' },
    heldOut: { dataset: 'sums-held-out', rows: 256 },
  },
  rewards: [{ id: 'sums' }],
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

const adapter = { loraRank: 16, loraAlpha: 32 };
const rows = { epochs: 3, batchSize: 16, learningRate: 2e-4, maxTokens: 256, ...adapter };

/**
 * Where all parameters are trained, a tenth and more of the adapter's: 60 steps of GRPO take the held-out reward from
 * 0.35 to 0.95.
 */
export const learnsAllWith = { fullLearningRate: 3e-5 };

/**
 * Settings under which the bundled model learns an adapter within minutes, by algorithm; `npm run learn` holds them to
 * it.
 */
export const learnsWith: Record<string, Record<string, unknown>> = {
  grpo: demo.params,
  gspo: { ...demo.params, minibatches: 4 },
  rloo: { ...demo.params, klInReward: 0 },
  reinforce_plus_plus: demo.params,
  ppo: {
    ...demo.params,
    steps: 30,
    prompts: 64,
    groupSize: 1,
    passes: 2,
    criticLearningRate: 1e-3,
    criticWarmup: 5,
    klWeight: 0,
    valueClip: 0,
  },
  sft: { ...rows, epochs: 4, batchSize: 32, learningRate: 1e-3 },
  dpo: rows,
  simpo: rows,
  orpo: { ...rows, learningRate: 1e-3 },
  kto: { ...rows, epochs: 4 },
  reward_model: { ...rows, learningRate: 1e-3 },
  distill: { ...rows, learningRate: 1e-3, maxNewTokens: 64 },
};
