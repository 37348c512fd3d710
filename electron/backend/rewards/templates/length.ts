import type { RewardTemplate } from './template';

export const length: RewardTemplate = {
  id: 'length',
  code: `/**
 * Length: 1 up to the wanted number of words, then less and less, 0 at twice as many.
 */
const wanted = 50;

export default function reward({ completion }: { completion: string }) {
  const words = completion.split(/\\s+/).filter((word) => word !== '').length;
  if (words === 0) return 0;
  return Math.max(0, Math.min(1, 2 - words / wanted));
}
`,
};
