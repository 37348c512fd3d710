import { typeOf } from './check';
import type { NodeType } from './signatures';
import { ProgramError, type LossProgram, type ProgramNode } from './types';

/** The node list that expressions append to; equal nodes are made once. */
export class Graph {
  readonly program: Pick<LossProgram, 'inputs' | 'nodes'> = { inputs: [], nodes: [] };
  readonly types: NodeType[] = [];
  private readonly known = new Map<string, number>();

  add(node: ProgramNode): number {
    const key = JSON.stringify(node);
    const known = this.known.get(key);
    if (known !== undefined) return known;
    this.types.push(typeOf(this.program, node, this.types));
    this.program.nodes.push(node);
    const index = this.program.nodes.length - 1;
    this.known.set(key, index);
    return index;
  }

  constant(value: number): number {
    return this.add({ op: 'const', value });
  }
}

export type Operand = Num | number;

abstract class Expr {
  constructor(
    readonly graph: Graph,
    readonly index: number,
  ) {}

  get shape() {
    return this.graph.types[this.index].shape;
  }

  /** Adds an op; where [T] and [S] meet, the sequence's entry is given to each of its tokens. */
  protected apply(op: string, others: (Expr | number)[], attributes: Partial<ProgramNode> = {}): number {
    const args = [this.index];
    for (const other of others) {
      if (typeof other === 'number') args.push(this.graph.constant(other));
      else if (other.graph !== this.graph) throw new ProgramError(`${op}: an expression of another program`);
      else args.push(other.index);
    }
    const shapes = args.map((a) => this.graph.types[a].shape);
    const mixed = shapes.includes('T') && shapes.includes('S');
    return this.graph.add({
      op,
      args: mixed
        ? args.map((a, i) => (shapes[i] === 'S' ? this.graph.add({ op: 'spread', args: [a] }) : a))
        : args,
      ...attributes,
    });
  }
}

/** A real-valued expression. Numbers given to its methods are constants. */
export class Num extends Expr {
  private num(op: string, others: (Expr | number)[] = [], attributes: Partial<ProgramNode> = {}): Num {
    return new Num(this.graph, this.apply(op, others, attributes));
  }
  private mask(op: string, other: Operand): Mask {
    return new Mask(this.graph, this.apply(op, [other]));
  }

  plus = (b: Operand) => this.num('add', [b]);
  minus = (b: Operand) => this.num('sub', [b]);
  times = (b: Operand) => this.num('mul', [b]);
  over = (b: Operand) => this.num('div', [b]);
  neg = () => this.num('neg');
  abs = () => this.num('abs');
  square = () => this.num('square');
  sqrt = () => this.num('sqrt');
  exp = () => this.num('exp');
  log = () => this.num('log');
  /** log(1 - exp(x)) for x < 0. */
  log1mexp = () => this.num('log1mexp');
  sigmoid = () => this.num('sigmoid');
  logSigmoid = () => this.num('logSigmoid');
  relu = () => this.num('relu');
  /** Where equal, each side gets half of the gradient (as torch). */
  min = (b: Operand) => this.num('min', [b]);
  max = (b: Operand) => this.num('max', [b]);
  /** Bounds may be expressions; the gradient passes inside, bounds included (as torch.clamp). */
  clip = (low: Operand, high: Operand) => this.num('clip', [low, high]);
  stopGradient = () => this.num('stopGradient');

  lt = (b: Operand) => this.mask('lt', b);
  le = (b: Operand) => this.mask('le', b);
  gt = (b: Operand) => this.mask('gt', b);
  ge = (b: Operand) => this.mask('ge', b);
  eq = (b: Operand) => this.mask('eq', b);

  /** [T] -> [S]: sum over a trajectory's tokens. */
  segSum = () => this.num('segSum');
  /** [T] -> [S]: mean over a trajectory's tokens in the mask; 0 where there are none. */
  segMean = (mask: Mask) => this.num('segMean', [mask]);
  /** [T] -> [S]: at a trajectory's last token in the mask; 0 where there are none. */
  segLast = (mask: Mask) => this.num('segLast', [mask]);
  /** [S] -> [T]: a trajectory's entry at each of its tokens. */
  spread = () => this.num('spread');
  /** [S] -> [S/n]: the k-th (from 0) of each n consecutive trajectories. */
  part = (k: number, n: number) => this.num('part', [], { k, n });
  /** [S/n] -> [S]: an entry given to each of its n trajectories. */
  unpart = () => {
    const n = Number(/^S\/(\d+)$/.exec(this.shape)?.[1] ?? 0);
    return this.num('unpart', [], { n });
  };
  /** Ascending over the whole step; the gradient follows each entry. The step cannot be split then. */
  sort = () => this.num('sort');

  /** Sum over the whole optimiser step, without gradient. */
  total = () => this.num('total');
  /** Quantile q of the entries in the mask over the whole step, linear between two (as torch.quantile). */
  quantile = (mask: Mask, q: Operand) => this.num('quantile', [mask, q]);
  /** The k-th largest of the entries in the mask over the whole step; k is rounded down, at least 1. */
  kthLargest = (mask: Mask, k: Operand) => this.num('kthLargest', [mask, k]);
}

/** A 0/1 expression. */
export class Mask extends Expr {
  private mask(op: string, others: Mask[] = [], attributes: Partial<ProgramNode> = {}): Mask {
    return new Mask(this.graph, this.apply(op, others, attributes));
  }

  and = (b: Mask) => this.mask('and', [b]);
  or = (b: Mask) => this.mask('or', [b]);
  not = () => this.mask('not');
  spread = () => this.mask('spread');
  part = (k: number, n: number) => this.mask('part', [], { k, n });
  /** As 0 and 1. */
  number = () => new Num(this.graph, this.apply('number', []));
  /** a where this is 1, else b. What is not chosen has no effect, not even NaN. */
  choose = (a: Operand, b: Operand) => new Num(this.graph, this.apply('where', [a, b]));
  /** [T] -> [S]: how many of a trajectory's tokens are in the mask. */
  length = () => this.number().segSum();
  /** [T]: how many tokens of the trajectory in the mask came before. */
  position = () => new Num(this.graph, this.apply('position', []));
  /** How many over the whole optimiser step. */
  count = () => new Num(this.graph, this.apply('total', []));
}
