/** Valid JSON: 0.5 for an object that can be read, and the rest for the wanted keys in it, 0 otherwise. Text around the object counts as a mistake. */
export const params = {
  keys: { default: 'name, date', label: 'Wanted keys', help: 'Names of keys, separated by commas.' },
};

export default function reward(
  { completion }: { completion: string },
  { keys }: { keys: string } = { keys: params.keys.default },
): number {
  let value: unknown;
  try {
    value = JSON.parse(completion);
  } catch {
    return 0;
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return 0;
  const wanted = keys.split(',').map((key) => key.trim()).filter((key) => key !== '');
  if (wanted.length === 0) return 1;
  return 0.5 + (0.5 * wanted.filter((key) => Object.hasOwn(value, key)).length) / wanted.length;
}
