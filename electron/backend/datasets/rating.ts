const ratings = new Map<unknown, boolean>([
  [true, true],
  [false, false],
  [1, true],
  [0, false],
  ['true', true],
  ['false', false],
  ['1', true],
  ['0', false],
]);

/** What a value says of an answer; null: neither good nor bad. A CSV file has only texts. */
export const ratingOf = (value: unknown): boolean | null =>
  ratings.get(typeof value === 'string' ? value.trim().toLowerCase() : value) ?? null;
