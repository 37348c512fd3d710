import { checkProgram, quantityOf } from './check';
import { Graph, Mask, Num, type Operand } from './expr';
import {
  PROGRAM_VERSION,
  ProgramError,
  type LossProgram,
  type LossTerm,
  type MetricTerm,
  type ProgramInput,
  type Shape,
} from './types';

/**
 * Writes a program so that it reads like the equation:
 *
 *   const p = new ProgramBuilder();
 *   const loss = p.mask('loss', 'T');
 *   const logp = p.engine('logp', loss);
 *   const ratio = logp.minus(p.data('oldLogp', 'T', loss)).exp();
 *   p.loss('policy', ratio.times(p.data('advantage', 'S')).neg(), p.atLeastOne(loss.count()));
 *   return p.build();
 */
export class ProgramBuilder {
  private readonly graph = new Graph();
  private readonly terms: LossTerm[] = [];
  private readonly metrics: MetricTerm[] = [];

  private input(input: ProgramInput): number {
    const known = this.graph.program.inputs.find((i) => i.name === input.name);
    if (!known) this.graph.program.inputs.push(input);
    else if (JSON.stringify(known) !== JSON.stringify(input))
      throw new ProgramError(`input "${input.name}" is declared twice, and differently`);
    return this.graph.add({ op: 'input', name: input.name });
  }

  private number(input: Omit<ProgramInput, 'kind'>, within?: Mask): Num {
    const x = new Num(this.graph, this.input({ ...input, kind: 'number' } as ProgramInput));
    return within ? within.choose(x, 0) : x;
  }

  /** A quantity of the forward pass, 0 (and without gradient) outside `within`. */
  engine(name: string, within?: Mask, options?: Record<string, number>): Num {
    const { shape } = quantityOf(name);
    return this.number({ name, shape, from: 'engine', ...(options && { options }) }, within);
  }
  /** Numbers that come with the batch, 0 outside `within`. */
  data(name: string, shape: Shape, within?: Mask): Num {
    return this.number({ name, shape, from: 'data' }, within);
  }
  /** 0/1 numbers that come with the batch. */
  mask(name: string, shape: Shape): Mask {
    return new Mask(this.graph, this.input({ name, shape, kind: 'mask', from: 'data' }));
  }
  /** A scalar that may differ from step to step; what is fixed for a run is better a plain number. */
  param(name: string): Num {
    return this.number({ name, shape: 'scalar', from: 'param' });
  }
  constant(value: number): Num {
    return new Num(this.graph, this.graph.constant(value));
  }
  /** Trajectories of the whole optimiser step. */
  sequences(): Num {
    return new Num(this.graph, this.graph.add({ op: 'sequences' }));
  }
  /** Groups of the whole optimiser step. */
  groups(): Num {
    return new Num(this.graph, this.graph.add({ op: 'groups' }));
  }
  atLeastOne(x: Num): Num {
    return x.max(1);
  }

  /** Adds sum(value) / over to the loss that is minimised; `over` is a scalar of the whole step. */
  loss(name: string, value: Num, over: Operand): this {
    this.terms.push({ name, value: value.index, over: this.index(over) });
    return this;
  }
  /** Mean of `value` over the entries in the mask, or weighted; over all entries without one. */
  mean(name: string, value: Num, weight?: Mask | Num): this {
    return this.metric(name, 'mean', value, weight);
  }
  sum(name: string, value: Num, weight?: Mask | Num): this {
    return this.metric(name, 'sum', value, weight);
  }
  least(name: string, value: Num, weight?: Mask | Num): this {
    return this.metric(name, 'min', value, weight);
  }
  greatest(name: string, value: Num, weight?: Mask | Num): this {
    return this.metric(name, 'max', value, weight);
  }
  /** A scalar of the whole step. */
  value(name: string, value: Num): this {
    return this.metric(name, 'value', value);
  }

  private metric(name: string, reduce: MetricTerm['reduce'], value: Num, weight?: Mask | Num): this {
    let w = weight;
    if (w && w.shape === 'S' && value.shape === 'T') w = w.spread();
    this.metrics.push({ name, reduce, value: value.index, ...(w ? { weight: w.index } : {}) });
    return this;
  }

  private index(x: Operand): number {
    return typeof x === 'number' ? this.graph.constant(x) : x.index;
  }

  /** @throws ProgramError naming the term or metric that is wrong. */
  build(): LossProgram {
    if (!this.terms.length) throw new ProgramError('a program needs a loss term');
    const program: LossProgram = {
      version: PROGRAM_VERSION,
      inputs: this.graph.program.inputs,
      nodes: this.graph.program.nodes,
      loss: this.terms,
      metrics: this.metrics,
    };
    checkProgram(program);
    return program;
  }
}
