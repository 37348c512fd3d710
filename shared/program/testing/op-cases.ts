import {
  evaluateProgram,
  ProgramBuilder,
  type Evaluation,
  type EvaluationInput,
  type LossProgram,
  type Num,
} from '../index';
import type { Mask } from '../index';

export interface GoldenCase extends EvaluationInput {
  name: string;
  program: LossProgram;
  gradients: string[];
}
export type Golden = GoldenCase & {
  expected: Omit<Evaluation, 'gradients'> & { gradients: Record<string, number[]> };
};

interface Given {
  p: ProgramBuilder;
  /** [T], differentiated. x is near 0.5, neg below 0, pos above 0. */
  x: Num;
  y: Num;
  neg: Num;
  pos: Num;
  /** [S], differentiated. */
  s: Num;
  m: Mask;
  /** One [S] mask. */
  k: Mask;
}

// Rows of three trajectories' tokens lie apart: trajectory 1 has rows 1 and 4.
const TARGETS = [3, 2, 1, 2, 2];
const TRAJECTORIES = [0, 1, 2, 3, 1];
const VALUES = {
  x: [0.31, -1.2, 2.3, 0.5, -0.7, 1.1, 0.5, -2.1, 0.9, 0.05],
  y: [1.4, -0.6, -2.2, 0.5, 0.8, -1.3, 0.4, 1.9, -0.9, 0.6],
  neg: [-0.01, -0.3, -0.69, -0.7, -1.5, -4, -9, -20, -0.9, -2.2],
  pos: [0.2, 1.7, 3.1, 0.9, 0.05, 2.4, 1, 0.6, 5.5, 0.33],
  s: [0.8, -1.1, 0.3, 2.2],
  wT: [0.7, -1.3, 0.4, 1.9, -0.2, 0.8, 1.1, -0.6, 0.5, 1.4],
  wS: [1.2, -0.7, 0.5, 0.9],
  wP: [0.6, -1.4],
  m: [1, 0, 1, 1, 1, 0, 1, 0, 1, 1],
  k: [1, 0, 1, 1],
};

const OPS: Record<string, (g: Given) => Num> = {
  neg: ({ x }) => x.neg(),
  abs: ({ x }) => x.abs(),
  square: ({ x }) => x.square(),
  sqrt: ({ pos }) => pos.sqrt(),
  exp: ({ x }) => x.exp(),
  log: ({ pos }) => pos.log(),
  log1mexp: ({ neg }) => neg.log1mexp(),
  sigmoid: ({ x }) => x.times(5).sigmoid(),
  logSigmoid: ({ x }) => x.times(20).logSigmoid(),
  relu: ({ x }) => x.relu(),
  stopGradient: ({ x, y }) => x.stopGradient().times(y),
  add: ({ x, y }) => x.plus(y),
  sub: ({ x, y }) => x.minus(y),
  mul: ({ x, y }) => x.times(y),
  div: ({ x, pos }) => x.over(pos),
  'min with a tie': ({ x, y }) => x.min(y),
  'max with a tie': ({ x, y }) => x.max(y),
  'min with a number': ({ x }) => x.min(0.4),
  'clip at a bound': ({ x }) => x.clip(-0.7, 1.1),
  'clip with expressions': ({ x, y }) => x.clip(y.minus(0.5), y.plus(0.5)),
  'lt, le, gt, ge': ({ x, y }) =>
    x.lt(y).choose(x, 1).plus(x.le(y).choose(x, 2)).plus(x.gt(y).choose(x, 3)).plus(x.ge(y).choose(x, 4)),
  'eq, not': ({ x, y }) => x.eq(y).not().choose(x, y.times(3)),
  'and, or': ({ x, y, m }) => x.gt(0).and(m).choose(x, 0).plus(y.gt(0).or(m).choose(y, 0)),
  number: ({ x, m }) => m.number().times(x),
  where: ({ x, y, m }) => m.choose(x.square(), y),
  segSum: ({ x }) => x.segSum(),
  segMean: ({ x, m }) => x.segMean(m),
  'segMean of nothing': ({ x, m }) => x.segMean(m.and(m.not())),
  segLast: ({ x, m }) => x.segLast(m),
  length: ({ s, m }) => s.times(m.length()),
  position: ({ x, m }) => x.times(m.position()),
  spread: ({ x, s }) => x.times(s),
  'spread of a mask': ({ x, k }) => k.spread().choose(x, 0),
  part: ({ s }) => s.part(0, 2).minus(s.part(1, 2).times(3)),
  'part of a mask': ({ s, k }) => k.part(1, 2).choose(s.part(0, 2), 0),
  unpart: ({ s }) => s.part(0, 2).min(s.part(1, 2)).unpart().times(s),
  sort: ({ s }) => s.sort().times(s),
  total: ({ x, y }) => x.times(y.total()),
  'total of a mask': ({ x, m }) => x.over(m.count()),
  quantile: ({ x, m }) => x.minus(x.quantile(m, 0.4)).square(),
  kthLargest: ({ x, m }) => x.ge(x.kthLargest(m, 3)).choose(x, 0),
  sequences: ({ p, x }) => x.over(p.sequences()),
  groups: ({ p, x }) => x.over(p.groups()),
};

function caseOf(name: string, make: (g: Given) => Num): GoldenCase {
  const p = new ProgramBuilder();
  const g: Given = {
    p,
    x: p.engine('logp'),
    y: p.engine('entropy'),
    neg: p.data('neg', 'T'),
    pos: p.data('pos', 'T'),
    s: p.data('s', 'S'),
    m: p.mask('m', 'T'),
    k: p.mask('k', 'S'),
  };
  const value = make(g);
  const weight = value.shape === 'T' ? 'wT' : value.shape === 'S' ? 'wS' : 'wP';
  // Nothing but the op and its weights decides the gradient; metrics see the op as it is.
  p.loss('op', value.times(p.data(weight, value.shape)), 2);
  p.mean('mean', value, value.shape === 'T' ? g.m : undefined);
  p.sum('sum', value);
  p.least('min', value);
  p.greatest('max', value, value.shape === 'T' ? g.m : undefined);
  if (value.shape === 'T') p.value('scalar', value.total());
  const program = p.build();
  const all: Record<string, number[]> = { ...VALUES, logp: VALUES.x, entropy: VALUES.y };
  return {
    name,
    program,
    targets: TARGETS,
    trajectories: TRAJECTORIES,
    groups: [0, 0, 1, 1],
    inputs: Object.fromEntries(program.inputs.map((i) => [i.name, all[i.name]])),
    gradients: ['logp', 'entropy', 'neg', 'pos', 's'],
  };
}

/** Outside the mask stands what must not matter: NaN, infinities, huge numbers. */
function garbage(): GoldenCase {
  const p = new ProgramBuilder();
  const m = p.mask('m', 'T');
  const x = p.engine('logp', m);
  const ratio = x.minus(p.data('old', 'T', m)).exp();
  const objective = ratio.times(p.data('s', 'S')).min(ratio.clip(0.8, 1.2).times(p.data('s', 'S')));
  p.loss('policy', m.choose(objective, 0).neg(), m.count());
  p.loss('mean', objective.segMean(m), p.sequences());
  p.mean('ratio', ratio, m);
  const odd = [NaN, 1e30, -Infinity, Infinity];
  const spoilt = (x: number[]) => x.map((v, i) => (VALUES.m[i] === 1 ? v : odd[i % odd.length]));
  return {
    name: 'garbage under the mask',
    program: p.build(),
    targets: TARGETS,
    trajectories: TRAJECTORIES,
    inputs: { m: VALUES.m, logp: spoilt(VALUES.neg), old: spoilt(VALUES.x.map((v) => v - 1)), s: VALUES.s },
    gradients: ['logp'],
  };
}

export const cases = (): GoldenCase[] => [
  ...Object.entries(OPS).map(([name, make]) => caseOf(name, make)),
  garbage(),
];

/** With the reference evaluator's values. */
export const golden = (): Golden[] =>
  cases().map((c) => {
    const { loss, metrics, gradients } = evaluateProgram(c.program, c);
    return {
      ...c,
      expected: {
        loss,
        metrics,
        gradients: Object.fromEntries(Object.entries(gradients).map(([k, g]) => [k, [...g]])),
      },
    };
  });

/** JSON has no NaN and infinities: written as the strings that the fixtures use. */
export const goldenText = (): string =>
  `${JSON.stringify(
    golden(),
    (_, v: unknown) =>
      typeof v === 'number' && !Number.isFinite(v) ? String(v).replace('Infinity', 'inf').toLowerCase() : v,
    1,
  )}\n`;
