/** Soft overlong punishment: 0 while the answer is short enough, then down to -1 at the longest length (DAPO, eq. 13). */
export const params = {
  longest: { default: 512, type: 'integer', min: 1, max: 1_000_000, label: 'Longest answer', help: 'Tokens; longer ones get -1.' },
  margin: {
    default: 128,
    type: 'integer',
    min: 0,
    max: 1_000_000,
    label: 'Margin',
    help: 'Tokens before the longest over which the punishment grows.',
  },
} as const;

export default function reward(
  { tokens }: { tokens: number[] | null },
  { longest, margin }: { longest: number; margin: number } = { longest: 512, margin: 128 },
): number | null {
  if (tokens === null) return null;
  const allowed = longest - margin;
  if (tokens.length <= allowed) return 0;
  return tokens.length <= longest ? (allowed - tokens.length) / margin : -1;
}
