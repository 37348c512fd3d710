/** Near sum: 1 for the exact answer, 0.5 within 10 %, 0.1 for any answer that ends in a number, else 0. */
export default function reward({ completion, answer }: { completion: string; answer: string }): number {
  const last = completion.match(/-?\d[\d,]*(?:\.\d+)?(?=\D*$)/)?.[0];
  const ends = /\d[^\w]*$/.test(completion.trim());
  if (last === undefined) return 0;
  const given = Number(last.replaceAll(',', ''));
  const wanted = Number(answer);
  if (given === wanted) return 1;
  if (Math.abs(given - wanted) <= 0.1 * Math.abs(wanted)) return 0.5;
  return ends ? 0.1 : 0;
}
