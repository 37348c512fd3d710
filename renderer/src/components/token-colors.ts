/** How likely a token was to the policy that sampled it, in six steps; the last two are also underlined. */
export const tokenBins = [
  { from: 0.9, label: '≥ 90 %' },
  { from: 0.5, label: '50–90 %' },
  { from: 0.2, label: '20–50 %' },
  { from: 0.05, label: '5–20 %' },
  { from: 0.01, label: '1–5 %' },
  { from: 0, label: '< 1 %' },
] as const;

/** Bin 0 (expected) to 5 (surprising) of a log-probability; null where it is not a number. */
export function tokenBin(logp: number): number | null {
  if (Number.isNaN(logp)) return null;
  const probability = Math.exp(logp);
  return tokenBins.findIndex((bin) => probability >= bin.from);
}
