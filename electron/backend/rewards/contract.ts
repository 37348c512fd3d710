import type { RewardLanguage, RewardParams, RewardStatus } from '../../../shared/contract/rewards';

/**
 * What a reward function is given for each sample:
 * `export default function reward({ prompt, completion, answer, messages, row, tokens })`
 * answers with a number, a boolean (1 or 0), or null: no opinion, the sample is left out and counted.
 * With `export const batch = true` it is given an array of these, the answers to one prompt, and answers with an array.
 * Its second argument are its settings: the values of `export const params`. A prompt's answers are scored together, in
 * their order, as soon as the last of them has ended; in Python, one by one as they end. Prompts come in any order:
 * what a reward keeps from one to the next must not matter. JavaScript begins anew with each prompt.
 */
export interface RewardRecord {
  prompt: string;
  completion: string;
  answer: string | null;
  /** The conversation with the completion as its last message; null where the data has plain prompts. */
  messages: readonly { role: string; content: unknown }[] | null;
  /** The data set's row as it is. */
  row: Record<string, unknown>;
  /** Token ids of the completion; null where they are not known. */
  tokens: readonly number[] | null;
}

export interface ScoreRequest {
  language: RewardLanguage;
  /** As the user wrote it. */
  code: string;
  /** Its settings, complete. */
  params: RewardParams;
  samples: readonly RewardRecord[];
  /** With the sample's index these seed Math.random: scoring again gives the same numbers. */
  seed: number;
  step: number;
  /** Place of each sample in its step; default 0, 1, 2 ... */
  indices?: readonly number[];
  /** Of the requests that belong together, as a step's; default: of this one alone. */
  breaks?: Breaks;
}

/** How many calls had to be killed so far: after too many the rest is given up, since each costs seconds. */
export interface Breaks {
  count: number;
}

/** What one request holds where answers come one by one. */
export type Takes = 'answer' | 'group';

export interface Scored {
  /** null unless the status is `ok`. Never 0 for a failure. */
  reward: number | null;
  status: RewardStatus;
  /** Message with the place in the code where it is known. */
  error?: string;
  milliseconds: number;
}
