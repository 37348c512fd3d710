/** Length: 1 up to the wanted length, then less and less, 0 at twice as much. Nothing at all is 0. */
export const params = {
  wanted: { default: 50, type: 'integer', min: 1, max: 1_000_000, label: 'Wanted length', help: 'Answers up to it get 1.' },
  unit: { default: 'words', options: ['words', 'characters', 'tokens'], label: 'Counted in', help: '' },
} as const;

export default function reward(
  { completion, tokens }: { completion: string; tokens: number[] | null },
  { wanted, unit }: { wanted: number; unit: string } = { wanted: 50, unit: 'words' },
): number | null {
  if (completion.trim() === '') return 0;
  if (unit === 'tokens' && tokens === null) return null;
  const words = () => completion.split(/\s+/).filter((word) => word !== '').length;
  const length = unit === 'tokens' ? tokens!.length : unit === 'words' ? words() : completion.length;
  return Math.max(0, Math.min(1, 2 - length / wanted));
}
