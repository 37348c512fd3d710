import type { RewardTemplate } from './template';

export const contains: RewardTemplate = {
  id: 'contains-answer',
  code: `/**
 * Contains the answer: 1 where the answer stands in the completion, whatever the case, 0 otherwise.
 *
 * A model learns to list many answers; the second line keeps it short.
 */
export default function reward({ completion, answer }: { completion: string; answer: string | null }) {
  if (answer === null) return null;
  if (completion.length > 20 * answer.length + 200) return 0;
  return completion.toLowerCase().includes(answer.toLowerCase());
}
`,
};
