// What benches time: completions of prompts, and a GRPO update of a LoRA by them.
import type { AdapterId, Engine, GeneratedRow, ModelId, OptimizerId } from '../native';
import { grpo } from '../shared/algorithms/grpo';

const REPEATS = 3;

const median = (values: number[]) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!;

/** Median of three, in seconds, after one that does not count. */
export async function timed(work: () => Promise<unknown>): Promise<number> {
  const seconds: number[] = [];
  await work();
  for (let k = 0; k < REPEATS; k++) {
    const start = performance.now();
    await work();
    seconds.push((performance.now() - start) / 1000);
  }
  return median(seconds);
}

/** No stop ids: every row gets all its tokens. */
export const complete = (
  engine: Engine,
  model: ModelId,
  adapter: AdapterId,
  prompts: Int32Array[],
  samplesPerPrompt: number,
  maxNewTokens: number,
) =>
  engine.generate({
    model,
    adapter,
    prompts,
    samplesPerPrompt,
    maxNewTokens,
    temperature: 1,
    stopIds: new Int32Array(),
    seed: 1,
  });

export const adamw = (engine: Engine, adapter: AdapterId): Promise<OptimizerId> =>
  engine.createOptimizer(
    { kind: 'adapter', adapter },
    { kind: 'adamw', beta1: 0.9, beta2: 0.999, epsilon: 1e-8, weightDecay: 0 },
  );

/** The rows' ids, and an update by them whose advantages are 1 and -1. */
export function updateBy(
  engine: Engine,
  optimizer: OptimizerId,
  prompts: Int32Array[],
  rows: readonly GeneratedRow[],
) {
  const sequences = rows.map((row) => Int32Array.from([...prompts[row.prompt]!, ...row.ids]));
  const batch = {
    ids: Int32Array.from(sequences.flatMap((ids) => [...ids])),
    lengths: Int32Array.from(sequences, ({ length }) => length),
  };
  const mask: number[] = [];
  const sampled: number[] = [];
  for (const row of rows) {
    const prompt = prompts[row.prompt]!.length;
    for (let k = 1; k < prompt; k++) {
      mask.push(0);
      sampled.push(0);
    }
    mask.push(...row.ids.map(() => 1));
    sampled.push(...row.logprob);
  }
  const update = () =>
    engine.step({
      optimizer,
      rows: batch,
      groups: Int32Array.from(rows, ({ prompt }) => prompt),
      program: JSON.stringify(grpo.losses(grpo.params.parse({})).policy),
      inputs: {
        loss: Float32Array.from(mask),
        samplerLogp: Float32Array.from(sampled),
        advantage: Float32Array.from(rows, (_, k) => (k % 2 ? 1 : -1)),
        meanStepTokens: Float32Array.of(mask.reduce((sum, bit) => sum + bit, 0)),
      },
      temperature: 1,
      learningRate: 1e-5,
      maxGradNorm: 1,
      microTokens: 8192,
    });
  return { batch, update };
}
