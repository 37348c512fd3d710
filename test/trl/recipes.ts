import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { appRoot } from '../../electron/backend/system';
import { ModelText } from '../../electron/backend/text';
import { DataOrder } from '../../electron/backend/train';
import { demo } from '../../shared/contract/demo';
import type { RunConfigInput } from '../../shared/contract/runs';

export const BASE = join(appRoot(), 'resources/models', demo.model);
export const LORA = { loraRank: 16, loraAlpha: 32 };
const STEPS = 60;

/** What a recipe is here, in TRL, and how its curve is called. Rows go to TRL in our order. */
export interface Recipe {
  algorithm: 'grpo' | 'sft';
  /** A step's answers where it learns from its own: what two sides sample differs. 0 where it does not. */
  answers: number;
  /** What a step is made of, for a person. */
  shape: string;
  steps: number;
  config: Omit<RunConfigInput, 'seed' | 'name'>;
  /** Of the curve, a value a step. */
  metric: string;
  /** TRL's side beyond model, adapter and seed. */
  trl: (seed: number) => Promise<Record<string, unknown>>;
}

const readRows = (name: string): Record<string, string>[] =>
  readFileSync(join(appRoot(), 'resources/datasets', `${name}.jsonl`), 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, string>);

/** Rows of the first steps of a seed, end to end. */
function inOrder<Row>(rows: readonly Row[], perStep: number, seed: number, end: 'wrap' | 'ragged'): Row[] {
  const order = new DataOrder(rows.length, perStep, seed, end);
  return Array.from({ length: STEPS }, (_, k) => order.step(k + 1))
    .flat()
    .map((k) => rows[k]!);
}

const grpo = { prompts: 8, groupSize: 8, maxNewTokens: 64, learningRate: 2e-4 };
const sft = { batchSize: 32, learningRate: 1e-3 };

export const RECIPES: readonly Recipe[] = [
  {
    algorithm: 'grpo',
    answers: grpo.prompts * grpo.groupSize,
    shape: `${grpo.prompts} prompts x ${grpo.groupSize} answers of at most ${grpo.maxNewTokens} tokens`,
    steps: STEPS,
    metric: 'reward/mean',
    config: {
      algorithm: 'grpo',
      model: demo.model,
      data: { dataset: 'sums', heldOut: null },
      rewards: [{ id: 'sums' }],
      params: { ...grpo, ...LORA, steps: STEPS },
    },
    trl: async (seed) => ({
      ...grpo,
      rows: inOrder(readRows('sums'), grpo.prompts, seed, 'wrap').map(({ prompt, answer }) => ({
        prompt: [{ role: 'user', content: prompt }],
        answer,
      })),
    }),
  },
  {
    algorithm: 'sft',
    answers: 0,
    shape: `${sft.batchSize} worked answers`,
    steps: STEPS,
    metric: 'train/nll',
    config: {
      algorithm: 'sft',
      model: demo.model,
      data: { dataset: 'sums-worked', heldOut: null },
      params: { ...sft, ...LORA, epochs: 4, schedule: 'constant', warmup: 0 },
    },
    trl: async (seed) => {
      const text = await ModelText.fromFolder(BASE);
      const rows: { input_ids: number[]; completion_mask: number[] }[] = [];
      for (const { prompt, completion } of readRows('sums-worked')) {
        const { ids, lossMask } = await text.example({
          kind: 'messages',
          messages: [
            { role: 'user', content: prompt! },
            { role: 'assistant', content: completion! },
          ],
        });
        rows.push({ input_ids: [...ids], completion_mask: [...lossMask] });
      }
      return { ...sft, rows: inOrder(rows, sft.batchSize, seed, 'ragged') };
    },
  },
];
