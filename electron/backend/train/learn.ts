import type { OptimizerId, StepRequest, StepResult } from '../../../native/face';
import type { Needs } from '../../../shared/algorithms';
import { learningRateFactor } from '../../../shared/schedules';
import type { LossProgram } from '../../../shared/program';
import { buildBatch, lossTokens, splitByGroup, type TrainRow } from './batch';
import type { TimedJob } from './timeline';
import type { ProgressMeter } from './progress';
import { draw } from './random';

export interface Learnt {
  /** Means over the step's updates. */
  metrics: Record<string, number>;
  /** The first update's own: only there the policy is still the sampler. */
  first: Record<string, number>;
  /** Updates that the engine left out because something was not finite. */
  refused: number;
  /** Updates that must have moved every module of the adapter. */
  moves: number;
}

/** What one role's updates are made with. */
export interface Trained {
  program: LossProgram;
  optimizer: OptimizerId;
  /** Before the schedule. */
  learningRate: number;
}

export const nothingLearnt = (rows: readonly TrainRow[]): Learnt => ({
  metrics: { 'train/tokens': lossTokens(rows) },
  first: {},
  refused: 0,
  moves: 0,
});

/** A step's updates. Not interruptible: half a step cannot be taken back. */
export async function learn(
  job: TimedJob,
  needs: Needs,
  { program, optimizer, learningRate: rate }: Trained,
  step: number,
  steps: number,
  rows: TrainRow[],
  meter: ProgressMeter,
): Promise<Learnt> {
  if (rows.length === 0) return nothingLearnt(rows);
  const { params } = job;
  const perStep = needs.minibatches * needs.passes;
  const plan = {
    schedule: params.schedule,
    warmup: Math.round(params.warmup * steps * perStep),
    updates: steps * perStep,
    floor: params.lowestRate,
  };
  const parts = splitByGroup(rows, needs.minibatches);
  const tokens = lossTokens(rows);
  const text = JSON.stringify(program);
  const results: StepResult[] = [];
  let learningRate = 0;
  let moves = 0;
  for (let pass = 0; pass < needs.passes; pass++) {
    for (const [k, part] of parts.entries()) {
      meter.phase('train', step, pass * parts.length + k, needs.passes * parts.length);
      learningRate = rate * learningRateFactor(plan, (step - 1) * perStep + pass * needs.minibatches + k);
      const start = performance.now();
      const batch = buildBatch(part, program, tokens / parts.length, params);
      job.clock.note('backend', 'rows', start);
      const result = await job.engine.step({
        optimizer,
        ...batch,
        program: text,
        ...(job.teacher && { teacher: job.teacher }),
        temperature: needs.temperature ?? 1,
        learningRate,
        maxGradNorm: params.maxGradNorm > 0 ? params.maxGradNorm : null,
        microTokens: job.microTokens,
        recompute: params.recompute,
        ...forwardOptions(needs, draw(job.config.seed, 'noise', step, results.length)),
      });
      results.push(result);
      // the first update of a warm-up has rate 0; groups of equal rewards have no gradient
      if (result.updated && learningRate > 0 && result.gradNorm > 0) moves++;
    }
  }
  meter.phase('train', step, results.length, results.length);
  return {
    metrics: { ...summarise(results), 'train/lr': learningRate, 'train/tokens': tokens },
    first: results[0]!.metrics,
    refused: results.filter((result) => !result.updated).length,
    moves,
  };
}

/** What the algorithm asks of the forward pass beside its program. `seed`: of the noise. */
export function forwardOptions(
  { packs, maxTokens, embeddingNoise }: Needs,
  seed: number,
): Pick<StepRequest, 'packTokens' | 'embeddingNoise'> {
  return {
    ...(packs && maxTokens !== undefined ? { packTokens: maxTokens } : {}),
    ...(embeddingNoise === undefined || embeddingNoise === 0
      ? {}
      : { embeddingNoise: { alpha: embeddingNoise, seed } }),
  };
}

function summarise(results: StepResult[]): Record<string, number> {
  const keys = new Set(results.flatMap((result) => Object.keys(result.metrics)));
  const metrics: Record<string, number> = {};
  for (const key of keys) metrics[key] = mean(results.map((result) => result.metrics[key] ?? NaN));
  metrics['train/loss'] = mean(results.map((result) => result.loss));
  metrics['train/grad_norm'] = mean(results.map((result) => result.gradNorm));
  const seconds = results.reduce((sum, result) => sum + result.seconds, 0);
  metrics['perf/train_tokens_per_s'] = results.reduce((sum, result) => sum + result.tokens, 0) / seconds;
  return metrics;
}

/** NaN where there is nothing: updates without a value are left out, as where no token has weight. */
function mean(values: number[]): number {
  const present = values.filter((value) => !Number.isNaN(value));
  return present.length === 0 ? NaN : present.reduce((sum, value) => sum + value, 0) / present.length;
}
