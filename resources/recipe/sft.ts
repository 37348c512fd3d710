import type { Engine, ModelId } from '../../native';
import { sft } from '../../shared/algorithms/sft';
import { learningRateFactor } from '../../shared/schedules';
import type { ModelText } from '../../electron/backend/text';
import { Random } from './random';
import type { Row } from './row';

export const SFT = {
  seed: 7,
  steps: 1200,
  /** Conversations of one step. */
  batch: 40,
  /** Share of conversations of 1, 2 and 3 questions. */
  turns: [0.7, 0.2, 0.1],
  learningRate: 1e-3,
  warmup: 80,
  optimizer: { kind: 'adamw', beta1: 0.9, beta2: 0.99, epsilon: 1e-8, weightDecay: 0.01 },
  maxGradNorm: 1,
  microTokens: 1024,
} as const;

/** All that the base model learns, in its order: what `fineTune` takes of `rows`. */
export function* conversations(rows: Iterator<Row, never>): Generator<Row[], undefined> {
  const random = new Random(SFT.seed);
  for (let k = 0; k < SFT.steps * SFT.batch; k++) yield conversation(rows, random);
}

/** 1, 2 or 3 rows that follow each other in one conversation. */
function conversation(rows: Iterator<Row, never>, random: Random): Row[] {
  const [one, two] = SFT.turns;
  const u = random.unit();
  const turns = u < one ? 1 : u < one + two ? 2 : 3;
  return Array.from({ length: turns }, () => rows.next().value);
}

async function encoded(text: ModelText, rows: readonly Row[]): Promise<{ ids: Int32Array; lossMask: Uint8Array }> {
  return text.example({
    kind: 'messages',
    messages: rows.flatMap(({ prompt, completion }) => [
      { role: 'user', content: prompt },
      { role: 'assistant', content: completion },
    ]),
  });
}

const joined = (parts: readonly Int32Array[]): Int32Array => {
  const all = new Int32Array(parts.reduce((sum, part) => sum + part.length, 0));
  parts.reduce((at, part) => (all.set(part, at), at + part.length), 0);
  return all;
};

/** All weights learn the rows' answers. */
export async function fineTune(
  engine: Engine,
  model: ModelId,
  text: ModelText,
  rows: Iterator<Row, never>,
  onStep: (step: number, loss: number) => void,
): Promise<void> {
  const optimizer = await engine.createOptimizer({ kind: 'full', model }, SFT.optimizer);
  const program = JSON.stringify(sft.losses(sft.params.parse({})).policy);
  const all = conversations(rows);
  for (let step = 0; step < SFT.steps; step++) {
    const examples = await Promise.all(
      Array.from({ length: SFT.batch }, () => encoded(text, all.next().value!)),
    );
    const { loss } = await engine.step({
      optimizer,
      rows: {
        ids: joined(examples.map(({ ids }) => ids)),
        lengths: Int32Array.from(examples, ({ ids }) => ids.length),
      },
      program,
      inputs: { loss: Float32Array.from(examples.flatMap(({ lossMask }) => [...lossMask.subarray(1)])) },
      temperature: 1,
      learningRate:
        SFT.learningRate *
        learningRateFactor({ schedule: 'cosine', warmup: SFT.warmup, updates: SFT.steps }, step),
      maxGradNorm: SFT.maxGradNorm,
      microTokens: SFT.microTokens,
    });
    onStep(step + 1, loss);
  }
  await engine.freeOptimizer(optimizer);
}
