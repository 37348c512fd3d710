/** What randomness is for. Part of a run's meaning: never renumber. */
const streams = {
  lora: 1,
  shuffle: 2,
  rollout: 3,
  heldOut: 4,
  reward: 5,
  resample: 6,
  split: 7,
  critic: 8,
  onPolicy: 9,
  noise: 10,
} as const;
export type Stream = keyof typeof streams;

/**
 * A number in [0, 2^53) that depends on nothing but its arguments: there is no state to save, and any step can
 * be drawn again. Two MurmurHash3 (x86, 32 bits) of the key with different seeds, joined.
 */
export function draw(seed: number, stream: Stream, step: number, index = 0): number {
  const key = [seed % 2 ** 32, Math.floor(seed / 2 ** 32), streams[stream], step, index];
  return hash(key, 0x9747b28c) * 2 ** 21 + (hash(key, 0x3c6ef372) >>> 11);
}

/** An order of 0..n-1, the same for the same key (Fisher-Yates). */
export function permutation(n: number, seed: number, epoch: number): Uint32Array {
  const order = Uint32Array.from({ length: n }, (_, k) => k);
  for (let k = n - 1; k > 0; k--) {
    const other = Math.floor((draw(seed, 'shuffle', epoch, k) / 2 ** 53) * (k + 1));
    const kept = order[k]!;
    order[k] = order[other]!;
    order[other] = kept;
  }
  return order;
}

function hash(words: readonly number[], seed: number): number {
  let h = seed | 0;
  for (const word of words) {
    let k = Math.imul(word | 0, 0xcc9e2d51);
    k = (k << 15) | (k >>> 17);
    h ^= Math.imul(k, 0x1b873593);
    h = (h << 13) | (h >>> 19);
    h = (Math.imul(h, 5) + 0xe6546b64) | 0;
  }
  h ^= words.length * 4;
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return (h ^ (h >>> 16)) >>> 0;
}
