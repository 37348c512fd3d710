import type { MicroBatch } from './micro-batch';

/** Bytes above the resident ones at the peak of a micro-batch's forward and backward. */
export interface MeasuredBytes extends MicroBatch {
  bytes: number;
}

/**
 * What an update takes above the resident bytes. Activations go by the tokens of a micro-batch, and on the CPU, where
 * attention's weights are kept, by its pairs of tokens; chunks of logits and gradients are there whatever its size.
 */
export interface UpdateBytes {
  /** The largest micro-batch that was measured. */
  measured: MeasuredBytes;
  /** More bytes with each token, and with each pair of tokens on a line. */
  perToken: number;
  perPair: number;
  /** The optimiser's part, once the gradient stands: new numbers beside the old ones. */
  move: number;
}

const tokens = ({ lines, length }: MicroBatch) => lines * length;
const pairs = ({ lines, length }: MicroBatch) => lines * length * length;

/**
 * Slopes through measures in ascending order, of lines of one length or of one line of several lengths; `shorter`: as
 * many tokens as the first, on lines of half the length. One measure alone is taken as proportional to its tokens.
 */
export function slopesOf(
  measures: readonly MeasuredBytes[],
  shorter: MeasuredBytes | null,
): Pick<UpdateBytes, 'perToken' | 'perPair'> {
  const first = measures[0]!;
  const last = measures.at(-1)!;
  if (last === first) return { perToken: last.bytes / tokens(last), perPair: 0 };
  const slope = (a: MeasuredBytes, b: MeasuredBytes) =>
    Math.max(0, (b.bytes - a.bytes) / (tokens(b) - tokens(a)));
  // what is there whatever the size matters less the larger it is
  const whole = slope(measures.at(-2)!, last);
  if (shorter) {
    const more = (first.bytes - shorter.bytes) / (pairs(first) - pairs(shorter));
    const perPair = Math.min(Math.max(0, more), whole / first.length);
    return { perToken: whole - perPair * first.length, perPair };
  }
  if (measures.length < 3 || first.length === last.length) return { perToken: whole, perPair: 0 };
  // one line: its pairs are the square of its tokens
  const middle = measures.at(-2)!;
  const bend = (whole - slope(first, middle)) / (last.length - first.length);
  const perPair = Math.min(Math.max(0, bend), whole / (middle.length + last.length));
  return { perToken: whole - perPair * (middle.length + last.length), perPair };
}

/**
 * Bytes of an update whose largest micro-batch is this; `gradient`: those of its gradient, which is there twice where
 * micro-batches add up to it. A larger one than was measured takes activations in proportion: what else there is, some
 * chunks of logits that the host is ahead by, weighs less and less.
 */
export function updateBytes(
  { measured, perToken, perPair, move }: UpdateBytes,
  batch: MicroBatch & { several: boolean },
  gradient: number,
): number {
  const times = tokens(batch) / tokens(measured);
  const fixed = Math.min(gradient, measured.bytes);
  const one =
    times > 1
      ? fixed + (measured.bytes - fixed) * times + perPair * tokens(batch) * (batch.length - measured.length)
      : measured.bytes +
        perToken * (tokens(batch) - tokens(measured)) +
        perPair * (pairs(batch) - pairs(measured));
  return Math.max(0, one + (batch.several ? gradient : 0), move);
}
