/** What a new reward begins with: the whole contract in a few lines. */
export const firstReward = `// Called once for every answer. What you return decides what becomes likelier.
//   prompt      what was asked
//   completion  the model's answer
//   answer      the row's answer column, or null
// Return a number; null leaves the answer out of the comparison.
export default function reward({
  completion,
  answer,
}: {
  prompt: string;
  completion: string;
  answer: string | null;
}): number | null {
  if (answer === null) return null;
  return completion.includes(answer) ? 1 : 0;
}
`;
