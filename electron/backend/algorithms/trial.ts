import type { Judgement, Rollouts } from '../../../shared/algorithms';
import {
  evaluateProgram,
  type Evaluation,
  type EvaluationInput,
  type LossProgram,
  type ProgramInput,
} from '../../../shared/program';
import { AtelierError } from '../../../shared/rpc';
import type { UsableAlgorithm } from '../train';

export interface Trial {
  loss: number;
  gradientNorm: number;
  /** null where the loss looks at the order of the whole step, which has no parts. */
  splitDifference: number | null;
}

const ADDITIVE = 1e-9;
/** Made once over the whole step, before its parts are learnt. */
const WHOLE_STEP = new Set(['total', 'sequences', 'groups', 'quantile', 'kthLargest']);

/**
 * Evaluates an algorithm on one batch of made-up numbers with the reference evaluator: its loss and gradient must be
 * finite, and the same whether the batch comes as one or in two parts. @throws AtelierError invalid_data
 */
export async function tryAlgorithm(
  algorithm: UsableAlgorithm,
  params: Record<string, unknown>,
): Promise<Trial> {
  const random = chance(7);
  const { policy, critic } = algorithm.losses(params);
  const lengths = Array.from({ length: 4 * together(policy) }, (_, k) => 2 + (k % 5));
  const judgement = await judge(algorithm, lengths, params, random);
  if (judgement) requireJudged(judgement, critic ? [policy, critic] : [policy]);
  if (critic) tryCritic(critic, batch(critic, lengths, judgement, params, random));
  const whole = batch(policy, lengths, judgement, params, random);
  const all = evaluate(policy, whole);
  const gradients = Object.values(all.gradients).flatMap((values) => [...values]);
  const gradientNorm = Math.hypot(...gradients);
  if (!Number.isFinite(all.loss)) throw fault(`its loss on a batch of made-up numbers is ${all.loss}.`);
  if (!Number.isFinite(gradientNorm))
    throw fault('its gradient on a batch of made-up numbers is not finite.');
  if (gradientNorm === 0)
    throw fault('its gradient on a batch of made-up numbers is 0: it would teach nothing.');
  return { loss: all.loss, gradientNorm, splitDifference: inHalves(policy, whole, all) };
}

/** What the programs ask for must be what the advantages give. */
function requireJudged({ advantage, returns }: Judgement, programs: readonly LossProgram[]): void {
  const asks = (name: string) =>
    programs.some(({ inputs }) => inputs.some((input) => input.from === 'data' && input.name === name));
  const byToken = advantage.filter((one) => typeof one !== 'number').length;
  if (byToken > 0 && byToken < advantage.length)
    throw fault('its advantages are numbers for some answers and one a token for others.');
  if (asks('advantage') && byToken > 0)
    throw fault(
      'its loss asks for "advantage", but its advantages are one a token: ask for "tokenAdvantage".',
    );
  if (asks('tokenAdvantage') && byToken === 0)
    throw fault(
      'its loss asks for "tokenAdvantage", but its advantages are one an answer: ask for "advantage".',
    );
  if (asks('returns') && returns === undefined)
    throw fault('its loss asks for "returns", which its advantages do not give.');
}

function tryCritic(program: LossProgram, input: EvaluationInput): void {
  const { loss, gradients } = evaluate(program, input);
  const norm = Math.hypot(...Object.values(gradients).flatMap((values) => [...values]));
  if (!Number.isFinite(loss) || !Number.isFinite(norm))
    throw fault(`the critic's loss or its gradient on a batch of made-up numbers is not finite.`);
  if (norm === 0)
    throw fault(`the critic's gradient on a batch of made-up numbers is 0: it would learn nothing.`);
}

async function judge(
  algorithm: UsableAlgorithm,
  lengths: number[],
  params: Record<string, unknown>,
  random: () => number,
): Promise<Judgement | null> {
  if (!algorithm.advantages) return null;
  const logps = () => lengths.map((length) => Float32Array.from({ length }, () => -0.1 - random()));
  const rollouts: Rollouts = {
    reward: lengths.map((_, k) => (k % 3 === 0 ? 1 : random())),
    group: lengths.map((_, k) => Math.floor(k / 4)),
    truncated: lengths.map(() => false),
    length: lengths,
    samplerLogp: logps(),
    refLogp: logps(),
    value: logps(),
  };
  return algorithm.advantages(rollouts, params as never);
}

function batch(
  program: LossProgram,
  lengths: number[],
  judgement: Judgement | null,
  params: Record<string, unknown>,
  random: () => number,
): EvaluationInput {
  const tokens = lengths.reduce((sum, length) => sum + length, 0);
  const made = (input: ProgramInput): number[] => {
    if (input.from === 'param') return [Number(params[input.name])];
    const size =
      input.shape === 'T'
        ? tokens
        : input.shape === 'scalar'
          ? 1
          : input.shape === 'S'
            ? lengths.length
            : lengths.length / Number(input.shape.slice(2));
    const values = (of: (k: number) => number) => Array.from({ length: size }, (_, k) => of(k));
    if (input.name === 'advantage' && judgement)
      return judgement.advantage.map((a) => (typeof a === 'number' ? a : (a[0] ?? 0)));
    if (input.name === 'tokenAdvantage' && judgement)
      return judgement.advantage.flatMap((a, k) =>
        typeof a === 'number' ? Array<number>(lengths[k]!).fill(a) : [...a],
      );
    if (input.name === 'chosen' || input.name === 'label') return values((k) => (k + 1) % 2);
    if (input.kind === 'mask') return values(() => 1);
    if (/logp/i.test(input.name)) return values(() => -0.1 - random());
    return values(() => random());
  };
  return {
    targets: lengths,
    groups: lengths.map((_, k) => Math.floor(k / 4)),
    inputs: Object.fromEntries(program.inputs.map((input) => [input.name, made(input)])),
    gradients: program.inputs
      .filter(({ from, kind }) => from === 'engine' && kind === 'number')
      .map(({ name }) => name),
  };
}

function evaluate(program: LossProgram, input: EvaluationInput) {
  try {
    return evaluateProgram(program, input);
  } catch (error) {
    throw fault(`its loss cannot be evaluated: ${(error as Error).message}`);
  }
}

/** Trajectories that must stay together: a multiple of every n of S/n. */
function together({ inputs, nodes }: LossProgram): number {
  const sizes = [
    3,
    ...nodes.map(({ n }) => n ?? 1),
    ...inputs.map(({ shape }) => Number(/^S\/(\d)$/.exec(shape)?.[1] ?? 1)),
  ];
  return sizes.reduce((all, n) => {
    let multiple = all;
    while (multiple % n !== 0) multiple += all;
    return multiple;
  }, 1);
}

/** Largest difference between the gradient of the whole and those of its halves. @throws AtelierError where they differ */
function inHalves(program: LossProgram, whole: EvaluationInput, all: Evaluation): number | null {
  if (program.nodes.some(({ op }) => op === 'sort')) return null;
  const scalars = program.nodes.flatMap(({ op }, at) => (WHOLE_STEP.has(op) ? [at] : []));
  const asked = scalars.map((value) => ({ name: `whole/${value}`, reduce: 'value' as const, value }));
  const { metrics } = evaluate({ ...program, metrics: asked }, { ...whole, gradients: [] });
  const nodes = program.nodes.map((node, at) =>
    WHOLE_STEP.has(node.op) ? { op: 'const', value: metrics[`whole/${at}`]! } : node,
  );
  const targets = Array.from(whole.targets);
  const half = targets.length / 2;
  const tokens = targets.slice(0, half).reduce((sum, length) => sum + length, 0);
  const parts = [0, 1].map((part) => {
    const cut = (name: string) => {
      const { shape } = program.inputs.find((input) => input.name === name)!;
      const values = Array.from(whole.inputs[name]!);
      const at = shape === 'scalar' ? values.length : shape === 'T' ? tokens : values.length / 2;
      return part === 0 || shape === 'scalar' ? values.slice(0, at) : values.slice(at);
    };
    return evaluate(
      { ...program, nodes, metrics: [] },
      {
        targets: part === 0 ? targets.slice(0, half) : targets.slice(half),
        inputs: Object.fromEntries(Object.keys(whole.inputs).map((name) => [name, cut(name)])),
        gradients: whole.gradients ?? [],
      },
    );
  });
  let largest = Math.abs(parts[0]!.loss + parts[1]!.loss - all.loss);
  for (const [name, gradient] of Object.entries(all.gradients)) {
    const joined = parts.flatMap((part) => [...part.gradients[name]!]);
    gradient.forEach((value, k) => (largest = Math.max(largest, Math.abs(value - joined[k]!))));
  }
  if (!(largest <= ADDITIVE * (1 + Math.abs(all.loss))))
    throw fault(
      `its gradient is another when the batch comes in two parts (by ${largest.toExponential(1)}).`,
    );
  return largest;
}

const fault = (message: string) =>
  new AtelierError('invalid_data', `The algorithm was tried on one batch: ${message}`);

/** Numbers from 0 to 1 (mulberry32). */
function chance(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}
