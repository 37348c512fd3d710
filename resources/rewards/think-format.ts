/** Think format: 1 where the answer begins with one <think> … </think>, and, if asked, goes on with one <answer> … </answer>. */
export const params = {
  answerTags: {
    default: false,
    label: 'Answer in tags',
    help: 'The rest must be one <answer> … </answer> and nothing else.',
  },
};

export default function reward(
  { completion }: { completion: string },
  { answerTags }: { answerTags: boolean } = { answerTags: false },
): number {
  // TRL's think_format_reward: no second <think> after the first
  const rest = /^<think>(?![\s\S]*<think>)[\s\S]*?<\/think>([\s\S]*)$/.exec(completion)?.[1];
  if (rest === undefined) return 0;
  if (!answerTags) return 1;
  return /^\s*<answer>(?![\s\S]*<answer>)[\s\S]*<\/answer>\s*$/.test(rest) ? 1 : 0;
}
