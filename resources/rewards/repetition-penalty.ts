/** Repetition penalty: down to the largest penalty, by the share of n-grams that the answer has said before. */
export const params = {
  size: { default: 3, type: 'integer', min: 1, max: 64, label: 'n', help: 'Length of the runs that are compared.' },
  largest: { default: -1, min: -1000, max: 0, label: 'Largest penalty', help: 'Of an answer that only repeats itself.' },
  unit: {
    default: 'tokens',
    options: ['tokens', 'words'],
    label: 'Runs of',
    help: 'Tokens as TRL counts, or words as Open-R1 does.',
  },
} as const;

export default function reward(
  { completion, tokens }: { completion: string; tokens: number[] | null },
  { size, largest, unit }: { size: number; largest: number; unit: string } = { size: 3, largest: -1, unit: 'tokens' },
): number | null {
  if (unit === 'tokens' && tokens === null) return null;
  const words = () => completion.toLowerCase().split(/\s+/).filter((word) => word !== '');
  const parts: (number | string)[] = unit === 'tokens' ? tokens! : words();
  const total = parts.length - size + 1;
  if (total < 1) return 0;
  const seen = new Set(Array.from({ length: total }, (_, k) => parts.slice(k, k + size).join(' ')));
  const repeated = 1 - seen.size / total;
  return repeated === 0 ? 0 : repeated * largest;
}
