/** How a question is worked out: the right way, or a plausible wrong one. */
export type Method = 'right' | 'wrong';

/** A question with its worked answer. */
export interface Row {
  prompt: string;
  completion: string;
  /** The true answer, whatever the completion says. */
  answer: string;
  /** null: both methods give the same text. */
  method: Method | null;
}
