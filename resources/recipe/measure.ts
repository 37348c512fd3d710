import type { AdapterId, Engine, ModelId } from '../../native';
import type { ModelText } from '../../electron/backend/text';

export interface Question {
  prompt: string;
  answer: string;
}

export interface Measured {
  /** Mean reward. */
  reward: number;
  /** Share of right answers. */
  right: number;
  /** Tokens of a completion, on average. */
  length: number;
  completions: string[];
}

export type Score = (sample: { prompt: string; completion: string; answer: string }) => number;

/** Rewards of `samples` answers to each question; temperature 0 is greedy. */
export async function measure(
  engine: Engine,
  policy: { model: ModelId; adapter: AdapterId | null; text: ModelText },
  questions: readonly Question[],
  score: Score,
  { temperature, samples, seed }: { temperature: number; samples: number; seed: number },
): Promise<Measured> {
  const { model, adapter, text } = policy;
  const prompts = await Promise.all(
    questions.map(async ({ prompt }) => (await text.prompt([{ role: 'user', content: prompt }])).ids),
  );
  const { rows } = await engine.generate({
    model,
    adapter,
    prompts,
    samplesPerPrompt: samples,
    maxNewTokens: 64,
    temperature,
    stopIds: text.stopIds,
    seed,
  });
  const completions = await Promise.all(
    rows.map(({ ids }) => text.tokenizer.decode(ids, { skipSpecial: true })),
  );
  const rewards = rows.map((row, k) => {
    const { prompt, answer } = questions[row.prompt]!;
    return score({ prompt, completion: completions[k]!, answer });
  });
  const mean = (values: number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
  return {
    reward: mean(rewards),
    right: mean(rewards.map((reward) => Number(reward === 1))),
    length: mean(rows.map(({ ids }) => ids.length)),
    completions,
  };
}
