/**
 * Right sum: 1 for the right answer, 0.1 for a wrong one in the asked form, 0 for anything else.
 *
 * Only the last line is read, `answer: 85`. Ideas to try: pay for each right column, or for short answers.
 */
export default function reward({ completion, answer }: { completion: string; answer: string }): number {
  const given = completion.match(/\nanswer: (\d+)\s*$/)?.[1];
  if (given === undefined) return 0;
  return given === answer ? 1 : 0.1;
}
