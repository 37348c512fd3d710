import type { RewardTemplate } from './template';

export const jsonValid: RewardTemplate = {
  id: 'json-valid',
  code: `/**
 * Valid JSON: 0.5 for an object that can be read, and the rest for the wanted keys in it, 0 otherwise.
 *
 * Text around the object counts as a mistake.
 */
const keys = ['name', 'date'];

export default function reward({ completion }: { completion: string }) {
  let value: unknown;
  try {
    value = JSON.parse(completion);
  } catch {
    return 0;
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return 0;
  const found = keys.filter((key) => Object.hasOwn(value, key)).length;
  return 0.5 + (0.5 * found) / keys.length;
}
`,
};
