/**
 * Right decimal: 1 where the larger one is named, 0.1 for a wrong answer in the asked form, 0 for anything else.
 *
 * Only the last line is read, `answer: 9.9`.
 */
export default function reward({ completion, answer }: { completion: string; answer: string }): number {
  const given = completion.match(/\nanswer: (\d+\.\d+)\s*$/)?.[1];
  if (given === undefined) return 0;
  return Number(given) === Number(answer) ? 1 : 0.1;
}
