/** How far one model's last-position logits [N, V], or scores [N], are from another's. */
export interface Difference {
  /** Largest |a - b|; Infinity where a number is not one. */
  logit: number;
  /** Mean over rows of KL(b || a), in nats. */
  kl: number;
  /** The largest difference as a share of the largest |b|; 0 where there is none. */
  share: number;
  /** Share of rows whose likeliest token is the same. */
  top: number;
}

/** What a written model may differ by. */
export type Limits = Pick<Difference, 'logit' | 'kl' | 'share'>;

export const within = (difference: Difference, limits: Limits): boolean =>
  difference.logit <= limits.logit &&
  difference.kl <= limits.kl &&
  difference.share <= limits.share &&
  Number.isFinite(difference.logit);

export function logitDifference(a: Float32Array, b: Float32Array, rows: number): Difference {
  if (a.length !== b.length || a.length === 0)
    return { logit: Infinity, kl: Infinity, share: Infinity, top: 0 };
  const width = a.length / rows;
  let [logit, kl, same] = [0, 0, 0];
  for (let row = 0; row < rows; row++) {
    const [of, against] = [a, b].map((all) => all.subarray(row * width, (row + 1) * width)) as [
      Float32Array,
      Float32Array,
    ];
    for (let k = 0; k < width; k++) {
      const difference = Math.abs(of[k]! - against[k]!);
      if (!(difference <= logit)) logit = Number.isNaN(difference) ? Infinity : difference;
    }
    const [p, q] = [logProbabilities(against), logProbabilities(of)];
    for (let k = 0; k < width; k++) kl += Math.exp(p[k]!) * (p[k]! - q[k]!);
    if (likeliest(of) === likeliest(against)) same++;
  }
  const largest = b.reduce((most, x) => Math.max(most, Math.abs(x)), 0);
  return {
    logit,
    kl: Number.isNaN(kl) ? Infinity : kl / rows,
    share: logit === 0 ? 0 : logit / largest,
    top: same / rows,
  };
}

function logProbabilities(logits: Float32Array): Float64Array {
  const most = logits.reduce((a, b) => Math.max(a, b), -Infinity);
  const sum = logits.reduce((total, x) => total + Math.exp(x - most), 0);
  return Float64Array.from(logits, (x) => x - most - Math.log(sum));
}

const likeliest = (logits: Float32Array) => logits.reduce((best, x, k) => (x > logits[best]! ? k : best), 0);
