import type { ProgramNode } from './types';

export type Vector = Float64Array;

/** Where targets and trajectories lie; counts over the whole step. */
export interface Frame {
  /** [T] trajectory of each target. */
  trajectory: Int32Array;
  trajectories: number;
  sequences: number;
  groups: number;
}

export interface Kernel {
  /** `out` has the entries of the node's shape. */
  forward(args: Vector[], out: Vector, node: ProgramNode, frame: Frame): void;
  /** Adds to `grads` of args that have one; absent where the op has no gradient. */
  backward?(
    args: Vector[],
    out: Vector,
    outGrad: Vector,
    grads: (Vector | undefined)[],
    node: ProgramNode,
    frame: Frame,
  ): void;
}

const at = (v: Vector, i: number) => v[v.length === 1 ? 0 : i];
const addAt = (v: Vector | undefined, i: number, x: number) => {
  if (v) v[v.length === 1 ? 0 : i] += x;
};

/** f(x) and, from x and y = f(x), dy/dx. */
const unary = (f: (x: number) => number, d: (x: number, y: number) => number): Kernel => ({
  forward: ([a], out) => {
    for (let i = 0; i < out.length; i++) out[i] = f(at(a!, i));
  },
  backward: ([a], out, g, [ga]) => {
    // An entry without influence keeps 0, whatever its derivative is.
    for (let i = 0; i < out.length; i++) if (g[i] !== 0) addAt(ga, i, g[i] * d(at(a!, i), out[i]));
  },
});

/** f and its partial derivatives, entry by entry. */
const pointwise = (f: (...x: number[]) => number, d?: (x: number[]) => number[]): Kernel => ({
  forward: (args, out) => {
    for (let i = 0; i < out.length; i++) out[i] = f(...args.map((a) => at(a, i)));
  },
  ...(d && {
    backward: (args: Vector[], out: Vector, g: Vector, grads: (Vector | undefined)[]) => {
      for (let i = 0; i < out.length; i++) {
        if (g[i] === 0) continue;
        const partial = d(args.map((a) => at(a, i)));
        partial.forEach((p, j) => {
          if (p !== 0) addAt(grads[j], i, g[i] * p);
        });
      }
    },
  }),
});

const sigmoid = (x: number) => (x >= 0 ? 1 / (1 + Math.exp(-x)) : Math.exp(x) / (1 + Math.exp(x)));
const half = (a: boolean, equal: boolean) => (equal ? 0.5 : a ? 1 : 0);
const mask = (f: (...x: number[]) => boolean): Kernel => pointwise((...x) => (f(...x) ? 1 : 0));

const elementwise: Record<string, Kernel> = {
  neg: unary(
    (x) => -x,
    () => -1,
  ),
  abs: unary(Math.abs, (x) => Math.sign(x)),
  square: unary(
    (x) => x * x,
    (x) => 2 * x,
  ),
  sqrt: unary(Math.sqrt, (_, y) => 0.5 / y),
  exp: unary(Math.exp, (_, y) => y),
  log: unary(Math.log, (x) => 1 / x),
  log1mexp: unary(
    (x) => (x > -Math.LN2 ? Math.log(-Math.expm1(x)) : Math.log1p(-Math.exp(x))),
    (x) => -1 / Math.expm1(-x),
  ),
  sigmoid: unary(sigmoid, (_, y) => y * (1 - y)),
  logSigmoid: unary(
    (x) => Math.min(x, 0) - Math.log1p(Math.exp(-Math.abs(x))),
    (x) => sigmoid(-x),
  ),
  relu: unary(
    (x) => Math.max(x, 0),
    (x) => (x > 0 ? 1 : 0),
  ),
  stopGradient: pointwise((x) => x!),
  add: pointwise(
    (a, b) => a! + b!,
    () => [1, 1],
  ),
  sub: pointwise(
    (a, b) => a! - b!,
    () => [1, -1],
  ),
  mul: pointwise(
    (a, b) => a! * b!,
    ([a, b]) => [b!, a!],
  ),
  div: pointwise(
    (a, b) => a! / b!,
    ([a, b]) => [1 / b!, -a! / (b! * b!)],
  ),
  min: pointwise(Math.min, ([a, b]) => [half(a! < b!, a === b), half(b! < a!, a === b)]),
  max: pointwise(Math.max, ([a, b]) => [half(a! > b!, a === b), half(b! > a!, a === b)]),
  clip: pointwise(
    (x, low, high) => (x! < low! ? low! : x! > high! ? high! : x!),
    ([x, low, high]) => (x! < low! ? [0, 1, 0] : x! > high! ? [0, 0, 1] : [1, 0, 0]),
  ),
  lt: mask((a, b) => a! < b!),
  le: mask((a, b) => a! <= b!),
  gt: mask((a, b) => a! > b!),
  ge: mask((a, b) => a! >= b!),
  eq: mask((a, b) => a === b),
  and: mask((a, b) => a !== 0 && b !== 0),
  or: mask((a, b) => a !== 0 || b !== 0),
  not: mask((a) => a === 0),
  number: pointwise((a) => a!),
  where: pointwise(
    (m, a, b) => (m !== 0 ? a! : b!),
    ([m]) => (m !== 0 ? [0, 1, 0] : [0, 0, 1]),
  ),
};

/** Last target of each trajectory in the mask, or -1. */
const lastIndex = (maskT: Vector, { trajectory, trajectories }: Frame) => {
  const last = new Int32Array(trajectories).fill(-1);
  trajectory.forEach((s, t) => {
    if (maskT[t] !== 0) last[s] = t;
  });
  return last;
};

const lengths = (maskT: Vector, { trajectory, trajectories }: Frame) => {
  const n = new Float64Array(trajectories);
  trajectory.forEach((s, t) => {
    if (maskT[t] !== 0) n[s] += 1;
  });
  return n;
};

const segments: Record<string, Kernel> = {
  segSum: {
    forward: ([x], out, _, { trajectory }) => trajectory.forEach((s, t) => (out[s] += x![t])),
    backward: (_args, _out, g, [gx], _node, { trajectory }) =>
      trajectory.forEach((s, t) => addAt(gx, t, g[s])),
  },
  segMean: {
    forward: ([x, m], out, _, frame) => {
      const n = lengths(m!, frame);
      frame.trajectory.forEach((s, t) => {
        if (m![t] !== 0) out[s] += x![t] / n[s];
      });
    },
    backward: ([, m], _out, g, [gx], _node, frame) => {
      const n = lengths(m!, frame);
      frame.trajectory.forEach((s, t) => {
        if (m![t] !== 0) addAt(gx, t, g[s] / n[s]);
      });
    },
  },
  segLast: {
    forward: ([x, m], out, _, frame) =>
      lastIndex(m!, frame).forEach((t, s) => {
        if (t >= 0) out[s] = x![t];
      }),
    backward: ([, m], _out, g, [gx], _node, frame) =>
      lastIndex(m!, frame).forEach((t, s) => {
        if (t >= 0) addAt(gx, t, g[s]);
      }),
  },
  position: {
    forward: ([m], out, _, { trajectory, trajectories }) => {
      const n = new Float64Array(trajectories);
      trajectory.forEach((s, t) => {
        out[t] = n[s];
        if (m![t] !== 0) n[s] += 1;
      });
    },
  },
  spread: {
    forward: ([x], out, _, { trajectory }) => trajectory.forEach((s, t) => (out[t] = at(x!, s))),
    backward: (_args, _out, g, [gx], _node, { trajectory }) =>
      trajectory.forEach((s, t) => addAt(gx, s, g[t])),
  },
};

/** Positions of x in ascending order. */
const order = (x: Vector) => [...x.keys()].sort((a, b) => x[a] - x[b] || a - b);

const parts: Record<string, Kernel> = {
  part: {
    forward: ([x], out, { k, n }) => out.forEach((_, i) => (out[i] = x![i * n! + k!])),
    backward: (_args, out, g, [gx], { k, n }) => out.forEach((_, i) => addAt(gx, i * n! + k!, g[i])),
  },
  unpart: {
    forward: ([x], out, { n }) => out.forEach((_, i) => (out[i] = x![Math.floor(i / n!)])),
    backward: (_args, out, g, [gx], { n }) => out.forEach((_, i) => addAt(gx, Math.floor(i / n!), g[i])),
  },
  sort: {
    forward: ([x], out) => order(x!).forEach((from, i) => (out[i] = x![from])),
    backward: ([x], _out, g, [gx]) => order(x!).forEach((from, i) => addAt(gx, from, g[i])),
  },
};

/** Entries in the mask, ascending. */
const chosen = (x: Vector, m: Vector) => x.filter((_, i) => at(m, i) !== 0).sort();

const wholeStep: Record<string, Kernel> = {
  const: { forward: (_, out, node) => (out[0] = node.value!) },
  sequences: { forward: (_, out, _node, frame) => (out[0] = frame.sequences) },
  groups: { forward: (_, out, _node, frame) => (out[0] = frame.groups) },
  total: { forward: ([x], out) => (out[0] = x!.reduce((a, b) => a + b, 0)) },
  quantile: {
    forward: ([x, m, q], out) => {
      const v = chosen(x!, m!);
      const place = (v.length - 1) * Math.min(1, Math.max(0, q![0]));
      const low = v[Math.floor(place)] ?? NaN;
      out[0] = low + (v[Math.ceil(place)] - low) * (place - Math.floor(place));
    },
  },
  kthLargest: {
    forward: ([x, m, k], out) => {
      const v = chosen(x!, m!);
      out[0] = v[v.length - Math.min(v.length, Math.max(1, Math.floor(k![0])))] ?? NaN;
    },
  },
};

export const KERNELS: Record<string, Kernel> = { ...elementwise, ...segments, ...parts, ...wholeStep };
