/**
 * A loss as data. A program is a list of nodes over token vectors, sequence vectors and scalars; its value is
 * a sum of loss terms, each the sum of a vector divided by a scalar that is constant over the whole optimiser
 * step. So any split into micro-batches, packed rows or devices adds up to the same number.
 *
 * Shapes: `T` one entry a target token (prompt targets included, padding never); `S` one entry a trajectory;
 * `S/n` one entry for each n consecutive trajectories (pairs, triples); `scalar`.
 */
export const PROGRAM_VERSION = 1;

export type Shape = 'T' | 'S' | 'scalar' | `S/${number}`;

/** `number` is real-valued; `mask` is 0 or 1 and never differentiated. */
export type Kind = 'number' | 'mask';

/** Who makes an input: the engine in the same step, the caller for each batch, or a param of the run. */
export type Source = 'engine' | 'data' | 'param';

export interface ProgramInput {
  name: string;
  shape: Shape;
  kind: Kind;
  from: Source;
  /** What an engine quantity is made with; exactly those that ENGINE_QUANTITIES lists for it. */
  options?: Record<string, number>;
}

export interface ProgramNode {
  op: string;
  /** Positions of earlier nodes. */
  args?: number[];
  /** `input`: its name. */
  name?: string;
  /** `const`: a finite number. */
  value?: number;
  /** `part`: which of the n. */
  k?: number;
  /** `part`, `unpart`: how many trajectories belong together. */
  n?: number;
}

/** sum(value) / over. */
export interface LossTerm {
  name: string;
  /** A number node of shape T, S or S/n. */
  value: number;
  /** A scalar number node. */
  over: number;
}

/**
 * mean: sum(value * weight) / sum(weight); sum: sum(value * weight); min, max: over entries with weight > 0;
 * value: a scalar as it is. Where nothing has weight, mean, min and max are NaN.
 */
export interface MetricTerm {
  name: string;
  reduce: 'mean' | 'sum' | 'min' | 'max' | 'value';
  value: number;
  /** A mask or number node of the value's shape; absent: every entry weighs 1. */
  weight?: number;
}

export interface LossProgram {
  version: typeof PROGRAM_VERSION;
  inputs: ProgramInput[];
  nodes: ProgramNode[];
  loss: LossTerm[];
  metrics: MetricTerm[];
}

export interface EngineQuantity {
  shape: Shape;
  /** False: a number to weigh with or to look at. */
  differentiable: boolean;
  help: string;
  /** By name, with their range. */
  options?: Record<string, { min: number; max: number; whole?: boolean }>;
}

const temperature = { min: 0.001, max: 1000 };

/**
 * What the engine can make from a forward pass. Quantities over the vocabulary are of logits divided by the step's
 * temperature; divergences from a teacher divide both sides' logits by their own option instead.
 */
export const ENGINE_QUANTITIES: Record<string, EngineQuantity> = {
  logp: { shape: 'T', differentiable: true, help: 'log-probability of the target token' },
  entropy: { shape: 'T', differentiable: true, help: 'entropy of the next-token distribution, in nats' },
  meanLogp: {
    shape: 'T',
    differentiable: true,
    help: 'mean over the vocabulary of the log-probabilities',
  },
  logSumSqProbs: {
    shape: 'T',
    differentiable: false,
    help: 'log of the sum over the vocabulary of squared probabilities',
  },
  meanLogit: {
    shape: 'T',
    differentiable: false,
    help: 'mean over the vocabulary of the logits; hardly costs anything',
  },
  correct: { shape: 'T', differentiable: false, help: '1 where the most probable token is the target' },
  jsd: {
    shape: 'T',
    differentiable: true,
    help: 'generalised Jensen-Shannon divergence from the teacher (GKD, arXiv 2306.13649): beta 0 is KL(teacher || student), 1 is KL(student || teacher)',
    options: { beta: { min: 0, max: 1 }, temperature },
  },
  topkDivergence: {
    shape: 'T',
    differentiable: true,
    help: "the same with alpha for beta, on the student's k most probable tokens: with the rest as one more (tail 1), or renormalised (tail 0)",
    options: {
      k: { min: 1, max: 4096, whole: true },
      tail: { min: 0, max: 1, whole: true },
      alpha: { min: 0, max: 1 },
      temperature,
    },
  },
  value: { shape: 'T', differentiable: true, help: "the critic's value before each target token" },
  score: {
    shape: 'S',
    differentiable: true,
    help: "the scalar head's score once the trajectory's last token is read",
  },
  routerAux: {
    shape: 'T',
    differentiable: true,
    help: "each token's part of the load-balancing loss of a mixture of experts (Switch Transformers, eq. 4), all layers and tokens of the step; they sum to it",
  },
};

export class ProgramError extends Error {
  override name = 'ProgramError';
}
