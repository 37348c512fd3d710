const maxDepth = 64;

/** The row that a JSON text is, or why it is none. */
export function jsonRow(text: string): { row: Record<string, unknown> } | { problem: string } {
  let value: unknown;
  try {
    value = JSON.parse(text);
    if (manyDigits.test(text)) value = JSON.parse(quoteInexact(text));
  } catch (error) {
    return { problem: `not JSON: ${whyNot(text, error)}`.slice(0, 300) };
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return { problem: 'a row must be a JSON object, {"column": value}' };
  }
  const keys = countKeys(value, maxDepth);
  if (keys === null) return { problem: `nested more than ${maxDepth} deep` };
  if (writtenKeys(text) !== keys) {
    return { problem: `the key ${JSON.stringify(repeatedKey(text))} stands twice in one object` };
  }
  return { row: value as Record<string, unknown> };
}

function whyNot(text: string, error: unknown): string {
  const found = /(?:^|[\s:,[])(-?Infinity|NaN)(?=[\s,\]}]|$)/.exec(text.replace(strings, '""'));
  if (found) return `${found[1]} is not JSON; write null, or the number as text`;
  return error instanceof Error ? error.message : String(error);
}

/** Keys of a value and of all within it; null where it is too deep. */
function countKeys(value: unknown, left: number): number | null {
  if (typeof value !== 'object' || value === null) return 0;
  if (left === 0) return null;
  const entries: unknown[] = Array.isArray(value) ? value : Object.values(value);
  let count = Array.isArray(value) ? 0 : entries.length;
  for (const entry of entries) {
    const inner = countKeys(entry, left - 1);
    if (inner === null) return null;
    count += inner;
  }
  return count;
}

/** End of the string that begins at a quote. */
function stringEnd(text: string, start: number): number {
  for (let at = text.indexOf('"', start + 1); at >= 0; at = text.indexOf('"', at + 1)) {
    let slashes = 0;
    while (text.charCodeAt(at - 1 - slashes) === 92) slashes++;
    if (slashes % 2 === 0) return at;
  }
  return text.length;
}

/** How often a key is written in valid JSON: a string with a colon after it. */
function writtenKeys(text: string): number {
  let count = 0;
  for (let at = text.indexOf('"'); at >= 0; at = text.indexOf('"', at)) {
    at = stringEnd(text, at) + 1;
    while (/\s/.test(text.charAt(at))) at++;
    if (text.charCodeAt(at) === 58) count++;
  }
  return count;
}

/** The first key of valid JSON that its object has already. */
function repeatedKey(text: string): string {
  const open: Set<string>[] = [];
  for (let at = 0; at < text.length; at++) {
    const char = text[at];
    if (char === '{') open.push(new Set());
    else if (char === '}') open.pop();
    if (char !== '"') continue;
    const start = at;
    at = stringEnd(text, at);
    if (!/^\s*:/.test(text.slice(at + 1, at + 64))) continue;
    const key = JSON.parse(text.slice(start, at + 1)) as string;
    const keys = open.at(-1);
    if (keys?.has(key)) return key;
    keys?.add(key);
  }
  return '';
}

const manyDigits = /\d{16}|\d[eE]\+?\d{2}/;
const strings = /"(?:[^"\\]|\\.)*"/g;
const stringOrNumber = /"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/g;

/** Whole numbers beyond 2^53 and infinities would become other numbers, and a right answer wrong: kept as text. */
const quoteInexact = (text: string) =>
  text.replace(stringOrNumber, (token) => {
    if (token.startsWith('"')) return token;
    const value = Number(token);
    const exact = /^-?\d+$/.test(token) ? Number.isSafeInteger(value) : Number.isFinite(value);
    return exact ? token : `"${token}"`;
  });
