/** A page of rows must fit one message of 1 MiB. */
const rowCharacters = 16_000;

/** A row for people to read: where it is long, so are its values no more. */
export function clipRow(row: Record<string, unknown>): Record<string, unknown> {
  if (charactersOf(row) <= rowCharacters) return row;
  const entries = Object.entries(row);
  const room = Math.max(80, Math.floor(rowCharacters / entries.length));
  return Object.fromEntries(entries.map(([name, value]) => [name, clip(value, room)]));
}

function clip(value: unknown, room: number): unknown {
  if (charactersOf(value) <= room) return value;
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return `${text.slice(0, room)}… (${text.length.toLocaleString('en-US')} characters)`;
}

function charactersOf(value: unknown): number {
  if (typeof value === 'string') return value.length;
  if (typeof value !== 'object' || value === null) return 8;
  return Object.entries(value).reduce((sum, [key, entry]) => sum + key.length + charactersOf(entry), 2);
}
