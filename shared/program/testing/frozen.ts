import { checkProgram } from '../check';
import { evaluateProgram, type EvaluationInput } from '../evaluate';
import type { LossProgram, Shape } from '../types';

/** What a gradient does not look through: a difference of values must not see it move either. */
const HELD = new Set(['stopGradient', 'total', 'quantile', 'kthLargest']);

/** A node's values here: a scalar as a metric, others as the gradient of a weighted sum by its weights. */
function valuesOf(
  program: LossProgram,
  node: number,
  shape: Shape,
  given: EvaluationInput,
): ArrayLike<number> {
  if (shape === 'scalar') {
    const told: LossProgram = { ...program, metrics: [{ name: 'held', reduce: 'value', value: node }] };
    return [evaluateProgram(told, { ...given, gradients: [] }).metrics['held']!];
  }
  const at = program.nodes.length;
  const weighed: LossProgram = {
    ...program,
    metrics: [],
    inputs: [...program.inputs, { name: 'weight', shape, kind: 'number', from: 'data' }],
    nodes: [
      ...program.nodes,
      { op: 'input', name: 'weight' },
      { op: 'mul', args: [node, at] },
      { op: 'const', value: 1 },
    ],
    loss: [{ name: 'weighed', value: at + 1, over: at + 2 }],
  };
  const targets = Array.from(given.targets);
  const tokens = targets.reduce((sum, n) => sum + n, 0);
  const size = shape === 'T' ? tokens : targets.length / Number(shape.slice(2) || 1);
  const inputs = { ...given.inputs, weight: new Float64Array(size).fill(1) };
  return evaluateProgram(weighed, { ...given, inputs, gradients: ['weight'] }).gradients['weight']!;
}

/**
 * The same loss with everything that has no gradient held at its value here, so that its finite differences are its
 * gradient. Each row is a trajectory of its own.
 */
export function frozen(program: LossProgram, given: EvaluationInput): [LossProgram, EvaluationInput] {
  const types = checkProgram(program);
  const held: LossProgram = {
    ...program,
    inputs: [...program.inputs],
    nodes: [...program.nodes],
    metrics: [],
  };
  const inputs = { ...given.inputs };
  program.nodes.forEach((node, index) => {
    if (!HELD.has(node.op)) return;
    const { shape, kind } = types[index]!;
    const name = `held ${index}`;
    inputs[name] = valuesOf(program, index, shape, given);
    held.inputs.push({ name, shape, kind, from: shape === 'scalar' ? 'param' : 'data' });
    held.nodes[index] = { op: 'input', name };
  });
  return [held, { ...given, inputs }];
}
