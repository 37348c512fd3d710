import { draw, permutation } from './random';

/**
 * Which rows each step takes, as a function of (seed, step): rows in a new order each epoch, nothing to save.
 * Steps count from 1.
 */
export class DataOrder {
  #epoch = -1;
  #order: Uint32Array = new Uint32Array();

  constructor(
    private readonly rows: number,
    private readonly perStep: number,
    private readonly seed: number,
    /** `wrap`: a step may reach into the next epoch. `ragged`: the last step of an epoch takes what is left. */
    private readonly end: 'wrap' | 'ragged',
  ) {}

  step(step: number): number[] {
    const { rows, perStep } = this;
    if (this.end === 'wrap') {
      const first = (step - 1) * perStep;
      return Array.from({ length: perStep }, (_, k) =>
        this.#at(Math.floor((first + k) / rows), (first + k) % rows),
      );
    }
    const stepsPerEpoch = Math.ceil(rows / perStep);
    const epoch = Math.floor((step - 1) / stepsPerEpoch);
    const first = ((step - 1) % stepsPerEpoch) * perStep;
    const count = Math.min(perStep, rows - first);
    return Array.from({ length: count }, (_, k) => this.#at(epoch, first + k));
  }

  /** Rows of a step's round of new prompts, from 1: other ones than the step itself takes, as far as there are any. */
  extra(step: number, round: number): number[] {
    const taken = new Set(this.step(step));
    const rest = Array.from({ length: this.rows }, (_, k) => k).filter((k) => !taken.has(k));
    if (rest.length === 0) return [];
    const start = Math.floor((draw(this.seed, 'resample', step) / 2 ** 53) * rest.length);
    const first = (round - 1) * this.perStep;
    return Array.from(
      { length: Math.max(0, Math.min(this.perStep, rest.length - first)) },
      (_, k) => rest[(start + first + k) % rest.length]!,
    );
  }

  #at(epoch: number, position: number): number {
    if (epoch !== this.#epoch) {
      this.#order = permutation(this.rows, this.seed, epoch);
      this.#epoch = epoch;
    }
    return this.#order[position]!;
  }
}
