/** Part of the engine's face (face.ts): optimisers, steps, loss programs. */
import type { AdapterId, ModelId, OptimizerId, Rows } from './models';

export type Trainable = { kind: 'adapter'; adapter: AdapterId } | { kind: 'full'; model: ModelId };

/** What every optimiser takes. */
interface Decay {
  /** Of matrices, decoupled where a kind does not say otherwise; */
  weightDecay: number;
  /** of norms, biases and embeddings too. Default false. An adapter's A and B are matrices. */
  decayAll?: boolean;
}

interface AdamWConstants {
  beta1: number;
  beta2: number;
  epsilon: number;
}

/**
 * How parameters move; native/src/train/rules/rule.h has each one's source.
 *
 *   adamw       torch.optim.AdamW, f32 states: 8 bytes a parameter
 *   adamw-8bit  the same with states in 8 bits (bitsandbytes' dynamic map, blocks of 256): 2 bytes. Parameters of
 *               fewer than 4,096 numbers keep f32 states.
 *   adam        torch.optim.Adam: `weightDecay` is part of the gradient (L2) instead of decoupled; 8 bytes
 *   adafactor   second moments by row and column: next to nothing. `relative` (default true): at most 1/sqrt(t) and
 *               times the parameter's RMS, as torch.optim.Adafactor; false: the rate as it stands.
 *   muon        for `full` only: matrices by orthogonalised momentum, all else (embedding, head, norms, biases) by
 *               AdamW; 4 bytes. `matchAdamW` (default true) scales its steps so that AdamW's rate suits; false is
 *               torch.optim.Muon's default.
 *   sgd         the gradient itself, or with momentum (torch.optim.SGD: `weightDecay` is part of the gradient)
 */
export type OptimizerSpec =
  | ({ kind: 'adamw' | 'adamw-8bit' | 'adam' } & AdamWConstants & Decay)
  | ({ kind: 'adafactor'; relative?: boolean } & Decay)
  | ({ kind: 'sgd'; momentum: number } & Decay)
  | ({ kind: 'muon'; momentum: number; matchAdamW?: boolean } & AdamWConstants & Decay);

export interface StepRequest {
  optimizer: OptimizerId;
  /** No rows, or all skipped: the gradient is zero and the optimiser still moves by its momentum. */
  rows: Rows;
  /** [N] trajectory of each row, 0..S-1; default: each row its own. */
  trajectories?: Int32Array;
  /** [S] group of each trajectory; default: all in group 0. Counted for the constant `groups`. */
  groups?: Int32Array;
  /**
   * [S] 1: the trajectory counts in the whole step's numbers (tokens, sequences, groups) but is not
   * forwarded: neither the loss nor a metric sees it. For what the caller knows to add nothing to the loss,
   * e.g. GRPO's group of equal rewards. Refused where the program's trajectories interact.
   */
  skip?: Uint8Array;
  /** JSON of a LossProgram (shared/program). */
  program: string;
  /** Every input the program names and the engine does not make: [T], [S], [S/n] or one number. */
  inputs: Record<string, Float32Array>;
  /** Whose distribution a divergence is taken from; its vocabulary must be the trained model's. */
  teacher?: { model: ModelId; adapter: AdapterId | null };
  /** Trainer's logits are divided by it. */
  temperature: number;
  learningRate: number;
  /** Clip the global gradient norm to it; null: no clipping. */
  maxGradNorm: number | null;
  /** Padded tokens forwarded and differentiated at once at most; changes memory, never the result. */
  microTokens: number;
  /**
   * Rows are packed, several on a line of so many tokens at most, each seeing itself alone; absent: a line each.
   * Changes speed, never the result. Models whose layers carry a state along the line take each row alone anyway.
   */
  packTokens?: number;
  /**
   * The backward makes each layer's activations again instead of keeping them: much less memory, about a third more
   * time, the same result. Default false.
   */
  recompute?: boolean;
  /** NEFTune: uniform noise in +-alpha / sqrt(L D) on the embeddings of a row of L tokens, by (seed, row). */
  embeddingNoise?: { alpha: number; seed: number };
}

export interface StepResult {
  loss: number;
  /** By the program's names; NaN where nothing had weight. */
  metrics: Record<string, number>;
  /** Global norm before clipping. */
  gradNorm: number;
  /** False where loss or gradient was not finite: nothing was changed. */
  updated: boolean;
  seconds: number;
  /** Tokens forwarded, without padding. */
  tokens: number;
  /** Memory at its peak, in all; and until the gradient stood, before the update. */
  peakBytes: number;
  gradientPeakBytes: number;
}

export interface ProgramRequest {
  program: string;
  /** All inputs, the engine's (logp, entropy ...) too, given as numbers. */
  inputs: Record<string, Float32Array>;
  /** [N] targets of each row (lengths - 1). */
  targets: Int32Array;
  trajectories?: Int32Array;
  groups?: Int32Array;
  /** Names of inputs to differentiate the loss by. */
  gradients: string[];
}

export interface ProgramResult {
  loss: number;
  metrics: Record<string, number>;
  gradients: Record<string, Float32Array>;
}
