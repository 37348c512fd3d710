/** Quantities over the vocabulary from given logits, in f64, and the way of their gradients back. */
export class Head {
  readonly logp: number[] = [];
  readonly meanLogp: number[] = [];
  readonly entropy: number[] = [];
  readonly correct: number[] = [];
  private readonly probs: number[][] = [];

  /** logits [N][V], target [N]; a negative target is no target (it counts as token 0, under no mask). */
  constructor(
    readonly logits: number[][],
    readonly target: number[],
  ) {
    logits.forEach((row, i) => {
      const top = Math.max(...row);
      const lse = top + Math.log(row.reduce((s, x) => s + Math.exp(x - top), 0));
      const logs = row.map((x) => x - lse);
      const p = logs.map(Math.exp);
      const y = Math.max(target[i], 0);
      this.probs.push(p);
      this.logp.push(logs[y]);
      this.meanLogp.push(logs.reduce((a, b) => a + b, 0) / row.length);
      this.entropy.push(-logs.reduce((s, l, v) => s + l * p[v], 0));
      this.correct.push(row.indexOf(top) === y ? 1 : 0);
    });
  }

  /** [N * V], from gradients by logp, meanLogp and entropy. */
  gradLogits(by: {
    logp?: ArrayLike<number>;
    meanLogp?: ArrayLike<number>;
    entropy?: ArrayLike<number>;
  }): number[] {
    return this.probs.flatMap((p, i) => {
      const y = Math.max(this.target[i], 0);
      const logp = by.logp?.[i] ?? 0;
      const mean = by.meanLogp?.[i] ?? 0;
      const entropy = by.entropy?.[i] ?? 0;
      return p.map(
        (pv, v) =>
          logp * ((v === y ? 1 : 0) - pv) +
          mean * (1 / p.length - pv) -
          entropy * pv * (Math.log(pv) + this.entropy[i]),
      );
    });
  }
}
