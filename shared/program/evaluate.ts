import { checkProgram } from './check';
import { KERNELS, type Frame, type Vector } from './kernels';
import { ProgramError, type LossProgram, type MetricTerm, type Shape } from './types';

export interface EvaluationInput {
  /** [N] targets of each row. */
  targets: ArrayLike<number>;
  /** [N] trajectory of each row, 0..S-1; default: each row its own. */
  trajectories?: ArrayLike<number>;
  /** [S] group of each trajectory; default: all in one. */
  groups?: ArrayLike<number>;
  /** Every input of the program, the engine's too: [T], [S], [S/n] or one number. */
  inputs: Record<string, ArrayLike<number>>;
  /** Names of inputs to differentiate the loss by. */
  gradients?: string[];
}

export interface Evaluation {
  loss: number;
  metrics: Record<string, number>;
  gradients: Record<string, Float64Array>;
}

function frameOf({ targets, trajectories, groups }: EvaluationInput): Frame {
  const rows = Array.from(targets);
  const ids = trajectories ? Array.from(trajectories) : rows.map((_, i) => i);
  if (ids.length !== rows.length)
    throw new ProgramError(`trajectories has ${ids.length} entries for ${rows.length} rows`);
  const count = ids.reduce((a, b) => Math.max(a, b + 1), 0);
  if (new Set(ids).size !== count)
    throw new ProgramError(`trajectories must use every number from 0 to ${count - 1}`);
  return {
    trajectory: Int32Array.from(rows.flatMap((n, row) => Array.from({ length: n }, () => ids[row]))),
    trajectories: count,
    sequences: count,
    groups: groups ? new Set(Array.from(groups)).size : 1,
  };
}

function sizeOf(shape: Shape, frame: Frame): number {
  if (shape === 'T') return frame.trajectory.length;
  if (shape === 'S') return frame.trajectories;
  if (shape === 'scalar') return 1;
  const n = Number(shape.slice(2));
  if (frame.trajectories % n !== 0)
    throw new ProgramError(`${frame.trajectories} trajectories do not divide into [${shape}]`);
  return frame.trajectories / n;
}

function metricValue({ reduce }: MetricTerm, value: Vector, weight: Vector | undefined): number {
  if (reduce === 'value') return value[0];
  let sum = 0;
  let weights = 0;
  let extreme = reduce === 'min' ? Infinity : -Infinity;
  value.forEach((x, i) => {
    const w = weight ? weight[i] : 1;
    if (w === 0) return;
    sum += x * w;
    weights += w;
    extreme = reduce === 'min' ? Math.min(extreme, x) : Math.max(extreme, x);
  });
  if (reduce === 'sum') return sum;
  if (reduce === 'mean') return weights === 0 ? NaN : sum / weights;
  return Number.isFinite(extreme) || weights !== 0 ? extreme : NaN;
}

/**
 * Value, metrics and gradients of a program in f64: what the native evaluator has to match.
 * @throws ProgramError where an input is missing, unknown or of the wrong length.
 */
export function evaluateProgram(program: LossProgram, given: EvaluationInput): Evaluation {
  const types = checkProgram(program);
  const frame = frameOf(given);
  const inputs = new Map<string, Vector>();
  for (const input of program.inputs) {
    const values = given.inputs[input.name];
    if (!values) throw new ProgramError(`input "${input.name}" is missing`);
    const size = sizeOf(input.shape, frame);
    if (values.length !== size)
      throw new ProgramError(
        `input "${input.name}" [${input.shape}] has ${values.length} entries, needs ${size}`,
      );
    inputs.set(
      input.name,
      Float64Array.from(values, input.kind === 'mask' ? (v) => (v === 0 ? 0 : 1) : undefined!),
    );
  }
  for (const name of Object.keys(given.inputs))
    if (!inputs.has(name)) throw new ProgramError(`the program has no input "${name}"`);

  const values: Vector[] = [];
  const argsOf = (i: number) => (program.nodes[i].args ?? []).map((a) => values[a]);
  program.nodes.forEach((node, i) => {
    if (node.op === 'input') {
      values.push(inputs.get(node.name!)!);
      return;
    }
    const out = new Float64Array(sizeOf(types[i].shape, frame));
    KERNELS[node.op].forward(argsOf(i), out, node, frame);
    values.push(out);
  });

  const loss = program.loss.reduce(
    (sum, term) => sum + values[term.value].reduce((a, b) => a + b, 0) / values[term.over][0],
    0,
  );
  const metrics = Object.fromEntries(
    program.metrics.map((m) => [
      m.name,
      metricValue(m, values[m.value], m.weight === undefined ? undefined : values[m.weight]),
    ]),
  );
  return { loss, metrics, gradients: backward() };

  function backward(): Record<string, Float64Array> {
    const wanted = new Set(given.gradients);
    for (const name of wanted) {
      const input = program.inputs.find((i) => i.name === name);
      if (!input || input.kind !== 'number' || input.shape === 'scalar')
        throw new ProgramError(`no gradient by "${name}": it is not a number input [T], [S] or [S/n]`);
    }
    // A node has a gradient where a wanted input reaches it on a way that is not stopped.
    const grads: (Vector | undefined)[] = [];
    program.nodes.forEach((node, i) => {
      const reached =
        node.op === 'input'
          ? wanted.has(node.name!)
          : KERNELS[node.op].backward !== undefined && (node.args ?? []).some((a) => grads[a]);
      grads.push(reached ? new Float64Array(values[i].length) : undefined);
    });
    for (const term of program.loss) {
      const g = grads[term.value];
      if (g) for (let i = 0; i < g.length; i++) g[i] += 1 / values[term.over][0];
    }
    for (let i = program.nodes.length - 1; i >= 0; i--) {
      const node = program.nodes[i];
      const g = grads[i];
      if (!g || node.op === 'input') continue;
      KERNELS[node.op].backward!(
        argsOf(i),
        values[i],
        g,
        (node.args ?? []).map((a) => grads[a]),
        node,
        frame,
      );
    }
    return Object.fromEntries(
      [...wanted].map((name) => {
        const i = program.nodes.findIndex((n) => n.op === 'input' && n.name === name);
        return [name, grads[i] ?? new Float64Array(inputs.get(name)!.length)];
      }),
    );
  }
}
