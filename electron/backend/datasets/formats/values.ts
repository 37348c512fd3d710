/** A value of a column format as JSON would have it: nothing rounded, nothing that a text could be mistaken for. */
export function plain(value: unknown): unknown {
  if (value === null || value === undefined) return null;
  switch (typeof value) {
    case 'bigint':
      return Number.isSafeInteger(Number(value)) ? Number(value) : String(value);
    case 'number':
      // NaN and infinities are no JSON: kept as they are written
      return Number.isFinite(value) ? value : String(value);
    case 'object':
      break;
    default:
      return value;
  }
  if (value instanceof Date) return value.toISOString();
  // images and sounds: there are some, but they are no text
  if (value instanceof Uint8Array) return { bytes: value.length };
  if (Array.isArray(value)) return value.map(plain);
  if (ArrayBuffer.isView(value)) return Array.from(value as unknown as ArrayLike<unknown>, plain);
  if (value instanceof Map)
    return Object.fromEntries([...value].map(([key, entry]) => [String(key), plain(entry)]));
  return Object.fromEntries(Object.entries(value).map(([key, entry]) => [key, plain(entry)]));
}
