/** Pattern: 1 where a regular expression finds the answer's form, 0 otherwise. */
export const params = {
  pattern: {
    default: '^<answer>[\\s\\S]+</answer>$',
    label: 'Pattern',
    help: 'A JavaScript regular expression. ^ and $ are the ends of the whole answer.',
  },
  ignoreCase: { default: false, label: 'Ignore case', help: 'A and a are the same letter.' },
};

export default function reward(
  { completion }: { completion: string },
  { pattern, ignoreCase }: { pattern: string; ignoreCase: boolean } = {
    pattern: params.pattern.default,
    ignoreCase: false,
  },
): boolean {
  return new RegExp(pattern, ignoreCase ? 'iu' : 'u').test(completion.trim());
}
