// Runs whose memory is estimated and then measured, each of another kind.
import type { RunConfigInput } from '../../shared/contract/runs';

/** A model of random weights: what it computes is noise, what it takes is not. */
export interface Shape {
  layers: number;
  hidden: number;
  vocabulary: number;
}

export const MODELS = {
  small: { layers: 6, hidden: 256, vocabulary: 8192 },
  larger: { layers: 8, hidden: 384, vocabulary: 12_288 },
} as const satisfies Record<string, Shape>;

export interface Case {
  name: string;
  /** One that is made here, or that of the app. */
  model: keyof typeof MODELS | 'abacus';
  algorithm: string;
  /** Words of each row's answer, by turns; a word is about four tokens. Rollouts have prompts of `prompt` words. */
  words: number[];
  rows: number;
  params: Record<string, unknown>;
  /** The model could only be looked at once its figures stood: nothing was changed for it. */
  aside?: true;
}

/** Answers of random weights never end by themselves, and their reward has to differ. */
const rollouts = { steps: 2, maskTruncated: false };
const REWARD = 'export default ({ completion }) => (completion.length % 7) / 7;';

export const CASES: Case[] = [
  {
    name: 'GRPO, LoRA, short answers',
    model: 'abacus',
    algorithm: 'grpo',
    words: [6],
    rows: 64,
    params: { ...rollouts, prompts: 8, groupSize: 8, maxNewTokens: 64 },
  },
  {
    name: 'SFT, LoRA, long rows',
    model: 'small',
    algorithm: 'sft',
    words: [180, 240, 60],
    rows: 12,
    params: { epochs: 1, batchSize: 6 },
  },
  {
    name: 'SFT, all parameters, AdamW',
    model: 'small',
    algorithm: 'sft',
    words: [12, 8, 10],
    rows: 64,
    params: { epochs: 1, batchSize: 32, method: 'full' },
  },
  {
    name: 'SFT, all parameters, 8-bit AdamW',
    model: 'larger',
    algorithm: 'sft',
    words: [20, 30],
    rows: 16,
    params: { epochs: 1, batchSize: 8, method: 'full', optimizer: 'adamw-8bit' },
  },
  {
    name: 'SFT, DoRA, packed rows',
    model: 'small',
    algorithm: 'sft',
    words: [5, 40, 10, 80, 20],
    rows: 64,
    params: { epochs: 1, batchSize: 32, dora: true, packing: true, maxTokens: 512 },
  },
  {
    name: 'DPO, LoRA',
    model: 'small',
    algorithm: 'dpo',
    words: [30, 40],
    rows: 16,
    params: { epochs: 1, batchSize: 8 },
  },
  {
    name: 'GRPO, LoRA, a large group',
    model: 'small',
    algorithm: 'grpo',
    words: [12],
    rows: 16,
    params: { ...rollouts, prompts: 2, groupSize: 48, maxNewTokens: 96 },
  },
  {
    name: 'PPO, LoRA and a critic',
    model: 'small',
    algorithm: 'ppo',
    words: [20],
    rows: 32,
    params: { ...rollouts, prompts: 16, maxNewTokens: 64, criticWarmup: 0 },
  },
  {
    name: 'SFT, LoRA on a 4-bit base',
    model: 'larger',
    algorithm: 'sft',
    words: [40, 30],
    rows: 8,
    params: { epochs: 1, batchSize: 4, baseWeights: '4-bit' },
  },
  {
    name: 'SFT, LoRA, layers recomputed',
    model: 'larger',
    algorithm: 'sft',
    words: [120, 90],
    rows: 8,
    params: { epochs: 1, batchSize: 4, recompute: true },
  },
  {
    name: 'GRPO, layers recomputed, long answers',
    model: 'small',
    algorithm: 'grpo',
    words: [10],
    rows: 16,
    params: { ...rollouts, prompts: 2, groupSize: 32, maxNewTokens: 220, recompute: true },
  },
  {
    name: 'GRPO, all parameters, held to the base',
    model: 'small',
    algorithm: 'grpo',
    words: [10],
    rows: 16,
    params: { ...rollouts, prompts: 4, groupSize: 4, maxNewTokens: 48, method: 'full', beta: 0.02 },
  },
  {
    name: 'DPO, DoRA, a larger model',
    model: 'larger',
    algorithm: 'dpo',
    words: [50, 70, 20],
    rows: 12,
    params: { epochs: 1, batchSize: 3, dora: true },
    aside: true,
  },
  {
    name: 'RLOO, all parameters, long answers',
    model: 'small',
    algorithm: 'rloo',
    words: [30],
    rows: 16,
    params: {
      ...rollouts,
      prompts: 3,
      groupSize: 8,
      maxNewTokens: 200,
      method: 'full',
      optimizer: 'adafactor',
    },
    aside: true,
  },
];

/** Its lines as a data set has them. */
export function linesOf({ algorithm, words, rows }: Case): object[] {
  const text = (count: number, k: number) =>
    Array.from({ length: count }, (_, w) => String(100 + ((k * 37 + w * 61) % 900))).join(' ');
  return Array.from({ length: rows }, (_, k) => {
    const count = words[k % words.length]!;
    if (algorithm === 'dpo')
      return { prompt: text(4, k), chosen: text(count, k + 1), rejected: text(count, k + 2) };
    if (algorithm === 'sft') return { prompt: text(4, k), completion: text(count, k + 1) };
    return { prompt: text(count, k), answer: '1' };
  });
}

export const configOf = (
  { name, algorithm, params }: Case,
  model: string,
  dataset: string,
): RunConfigInput => ({
  name,
  algorithm,
  model,
  data: { dataset },
  rewards: 'maxNewTokens' in params ? [{ code: REWARD }] : [],
  params,
  seed: 1,
  checkpointEvery: 100,
});
