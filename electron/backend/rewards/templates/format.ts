import type { RewardTemplate } from './template';

export const format: RewardTemplate = {
  id: 'format-pattern',
  code: `/**
 * Format: 1 where the completion has the form of the pattern, 0 otherwise.
 *
 * Change the pattern to the form you want. Form alone is quickly learnt: add what makes an answer right.
 */
const pattern = /^<think>[\\s\\S]+<\\/think>\\s*<answer>[\\s\\S]+<\\/answer>\\s*$/;

export default function reward({ completion }: { completion: string }) {
  return pattern.test(completion);
}
`,
};
