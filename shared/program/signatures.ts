import { ProgramError, type Kind, type ProgramNode, type Shape } from './types';

export interface NodeType {
  shape: Shape;
  kind: Kind;
  /** Holds over the whole optimiser step: a scalar, or an entry that depends on the other rows. */
  differentiable: boolean;
}

export type Signature = (args: NodeType[], node: ProgramNode) => NodeType;

const fail = (message: string): never => {
  throw new ProgramError(message);
};

const describe = (t: NodeType) => `${t.kind === 'mask' ? 'a mask' : 'a number'} [${t.shape}]`;

function want(args: NodeType[], ...kinds: Kind[]): void {
  if (args.length !== kinds.length) fail(`takes ${kinds.length} arguments, has ${args.length}`);
  args.forEach((a, i) => {
    if (a.kind !== kinds[i])
      fail(
        `argument ${i + 1} must be a ${kinds[i]}, is ${describe(a)}` +
          (kinds[i] === 'number' ? '; turn a mask into 0 and 1 with number()' : '; make one by comparing'),
      );
  });
}

/** A scalar meets any shape; two vectors must be alike. */
export function joinShapes(shapes: Shape[]): Shape {
  const vectors = [...new Set(shapes.filter((s) => s !== 'scalar'))];
  if (vectors.length > 1)
    fail(
      `shapes ${vectors.map((s) => `[${s}]`).join(' and ')} do not meet; ` +
        'go from [T] to [S] with segSum or segMean, from [S] to [T] with spread, from [S] to pairs with part',
    );
  return vectors[0] ?? 'scalar';
}

const anyDifferentiable = (args: NodeType[]) => args.some((a) => a.kind === 'number' && a.differentiable);

const elementwise =
  (kinds: Kind[], kind: Kind = 'number'): Signature =>
  (args) => {
    want(args, ...kinds);
    return {
      shape: joinShapes(args.map((a) => a.shape)),
      kind,
      differentiable: kind === 'number' && anyDifferentiable(args),
    };
  };

const fromShape = (arg: NodeType, ...allowed: string[]) => {
  const family = arg.shape.startsWith('S/') ? 'S/n' : arg.shape;
  if (!allowed.includes(family))
    fail(`wants ${allowed.map((s) => `[${s}]`).join(' or ')}, is ${describe(arg)}`);
};

const segment =
  (kinds: Kind[]): Signature =>
  (args) => {
    want(args, ...kinds);
    args.forEach((a) => fromShape(a, 'T'));
    return { shape: 'S', kind: 'number', differentiable: args[0].differentiable };
  };

const partCount = (node: ProgramNode): number => {
  if (!Number.isInteger(node.n) || node.n! < 2) fail('n must be a whole number, 2 or more');
  return node.n!;
};

const wholeStep =
  (kinds: Kind[], scalars: number[] = []): Signature =>
  (args) => {
    want(args, ...kinds);
    args.forEach((a, i) => fromShape(a, ...(scalars.includes(i) ? ['scalar'] : ['T', 'S', 'S/n'])));
    joinShapes(args.filter((_, i) => !scalars.includes(i)).map((a) => a.shape));
    return { shape: 'scalar', kind: 'number', differentiable: false };
  };

const N = 'number';
const M = 'mask';
const unary = elementwise([N]);
const binary = elementwise([N, N]);
const compare = elementwise([N, N], M);
const batchCount: Signature = (args) => {
  want(args);
  return { shape: 'scalar', kind: 'number', differentiable: false };
};

/** Every op but `input`: what it takes and what it gives. */
export const SIGNATURES: Record<string, Signature> = {
  const: (args, node) => {
    want(args);
    if (!Number.isFinite(node.value)) fail(`a constant must be a finite number, is ${node.value}`);
    return { shape: 'scalar', kind: 'number', differentiable: false };
  },
  // Counted over the whole optimiser step.
  sequences: batchCount,
  groups: batchCount,

  neg: unary,
  abs: unary,
  square: unary,
  sqrt: unary,
  exp: unary,
  log: unary,
  log1mexp: unary,
  sigmoid: unary,
  logSigmoid: unary,
  relu: unary,
  stopGradient: (args) => ({ ...unary(args, { op: '' }), differentiable: false }),

  add: binary,
  sub: binary,
  mul: binary,
  div: binary,
  min: binary,
  max: binary,
  clip: elementwise([N, N, N]),

  lt: compare,
  le: compare,
  gt: compare,
  ge: compare,
  eq: compare,
  and: elementwise([M, M], M),
  or: elementwise([M, M], M),
  not: elementwise([M], M),
  number: (args) => ({ ...elementwise([M])(args, { op: '' }), differentiable: false }),
  where: elementwise([M, N, N]),

  segSum: segment([N]),
  segMean: segment([N, M]),
  segLast: segment([N, M]),
  position: (args) => {
    want(args, M);
    fromShape(args[0], 'T');
    return { shape: 'T', kind: 'number', differentiable: false };
  },
  spread: (args) => {
    if (args.length !== 1) fail(`takes 1 argument, has ${args.length}`);
    fromShape(args[0], 'S');
    return { ...args[0], shape: 'T' };
  },
  part: (args, node) => {
    if (args.length !== 1) fail(`takes 1 argument, has ${args.length}`);
    fromShape(args[0], 'S');
    const n = partCount(node);
    if (!Number.isInteger(node.k) || node.k! < 0 || node.k! >= n)
      fail(`k must be 0 to ${n - 1}, is ${node.k}`);
    return { ...args[0], shape: `S/${n}` };
  },
  unpart: (args, node) => {
    if (args.length !== 1) fail(`takes 1 argument, has ${args.length}`);
    const n = partCount(node);
    if (args[0].shape !== `S/${n}`) fail(`wants [S/${n}], is ${describe(args[0])}`);
    return { ...args[0], shape: 'S' };
  },
  sort: (args) => {
    want(args, N);
    fromShape(args[0], 'S', 'S/n');
    return args[0];
  },

  total: (args) => {
    if (args.length !== 1) fail(`takes 1 argument, has ${args.length}`);
    return wholeStep([args[0].kind])(args, { op: '' });
  },
  quantile: wholeStep([N, M, N], [2]),
  kthLargest: wholeStep([N, M, N], [2]),
};
