import { open } from 'node:fs/promises';
import type { Format, Place, ScannedRow } from './format';

const chunkBytes = 256 << 10;
/** A longer line is a problem, and is not kept in memory. */
export const maxLineBytes = 16 << 20;
const maxDepth = 64;
const newline = 10;

export const jsonl: Format = {
  name: 'JSON lines',
  endings: ['.jsonl', '.ndjson'],

  async *read(path, from, signal) {
    const file = await open(path, 'r');
    try {
      const lines = new LineReader(from);
      const buffer = Buffer.alloc(chunkBytes);
      for (let position = from.offset; ;) {
        signal?.throwIfAborted();
        const { bytesRead } = await file.read(buffer, 0, chunkBytes, position);
        if (bytesRead === 0) break;
        const rows = lines.take(buffer.subarray(0, bytesRead));
        position += bytesRead;
        if (rows.length > 0) yield rows;
      }
      const last = lines.end();
      if (last.length > 0) yield last;
    } finally {
      await file.close();
    }
  },
};

/** Cuts bytes into lines; a line may span many chunks. */
class LineReader {
  #parts: Buffer[] = [];
  #bytes = 0;
  #offset: number;
  #line: number;

  constructor(from: Place) {
    this.#offset = from.offset;
    this.#line = from.line;
  }

  take(chunk: Buffer): ScannedRow[] {
    const rows: ScannedRow[] = [];
    let start = 0;
    for (let at = chunk.indexOf(newline); at >= 0; at = chunk.indexOf(newline, start)) {
      this.#keep(chunk.subarray(start, at), at - start);
      this.#finish(rows, 1);
      start = at + 1;
    }
    // The chunk's memory is used again.
    this.#keep(Buffer.from(chunk.subarray(start)), chunk.length - start);
    return rows;
  }

  end(): ScannedRow[] {
    const rows: ScannedRow[] = [];
    if (this.#bytes > 0) this.#finish(rows, 0);
    return rows;
  }

  #keep(part: Buffer, bytes: number): void {
    this.#bytes += bytes;
    if (this.#bytes <= maxLineBytes) this.#parts.push(part);
    else this.#parts = [];
  }

  #finish(rows: ScannedRow[], newlineBytes: number): void {
    const place = { line: this.#line, offset: this.#offset };
    const tooLong = this.#bytes > maxLineBytes;
    const text = tooLong ? null : decode(Buffer.concat(this.#parts), this.#line === 1);
    if (tooLong) rows.push({ ...place, problem: `the line is longer than ${maxLineBytes >> 20} MiB` });
    else if (text === null) rows.push({ ...place, problem: 'the line is not UTF-8 text' });
    else if (text.trim() !== '') rows.push({ ...place, ...parse(text) });
    this.#offset += this.#bytes + newlineBytes;
    this.#line++;
    this.#parts = [];
    this.#bytes = 0;
  }
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

function decode(bytes: Buffer, first: boolean): string | null {
  try {
    const text = utf8.decode(bytes);
    return first && text.startsWith('\uFEFF') ? text.slice(1) : text;
  } catch {
    return null;
  }
}

function parse(text: string): { row: Record<string, unknown> } | { problem: string } {
  let value: unknown;
  try {
    value = JSON.parse(text);
    if (manyDigits.test(text)) value = JSON.parse(quoteInexact(text));
  } catch (error) {
    return { problem: `not JSON: ${error instanceof Error ? error.message : String(error)}`.slice(0, 300) };
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return { problem: 'a row must be a JSON object, {"column": value}' };
  }
  if (deeper(value, maxDepth)) return { problem: `nested more than ${maxDepth} deep` };
  return { row: value as Record<string, unknown> };
}

function deeper(value: unknown, left: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return left === 0 || Object.values(value).some((entry) => deeper(entry, left - 1));
}

const manyDigits = /\d{16}|\d[eE]\+?\d{2}/;
const stringOrNumber = /"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/g;

/** Whole numbers beyond 2^53 and infinities would become other numbers, and a right answer wrong: kept as text. */
const quoteInexact = (text: string) =>
  text.replace(stringOrNumber, (token) => {
    if (token.startsWith('"')) return token;
    const value = Number(token);
    const exact = /^-?\d+$/.test(token) ? Number.isSafeInteger(value) : Number.isFinite(value);
    return exact ? token : `"${token}"`;
  });
