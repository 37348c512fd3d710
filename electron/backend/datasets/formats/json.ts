import { readFile, stat } from 'node:fs/promises';
import { AtelierError } from '../../../../shared/rpc/errors';
import { chunksOf, headOf } from './chunks';
import type { Format, Place, ScannedRow } from './format';
import { jsonRow } from './json-row';
import { jsonl } from './jsonl';
import { decode, maxRowBytes, notUtf8, tooLongText } from './text';

const headBytes = 64 << 10;
/** Columns one after another cannot be read row by row: all of them stay in memory. */
const maxColumnsBytes = 256 << 20;

/** One JSON value: a list of objects, or an object of lists. Lines of objects under this name are read as such. */
export const json: Format = {
  name: 'JSON',
  endings: ['.json'],
  hint: 'The file is one list of objects, [{"column": value}, …], or one object of lists, {"column": [value, …]}.',
  begins: (head) => /^\uFEFF?\s*[[{]/.test(head.toString('utf8')),

  async *read(path, from, signal) {
    const head = await headOf(path, headBytes);
    if (/^\uFEFF?\s*\[/.test(head.toString('utf8'))) yield* listRows(path, from, signal);
    else if (jsonl.begins(head)) yield* jsonl.read(path, from, signal);
    else yield* columnRows(path, from);
  },
};

async function* listRows(path: string, from: Place, signal?: AbortSignal): AsyncGenerator<ScannedRow[]> {
  const elements = new ElementReader(from);
  for await (const chunk of chunksOf(path, from.offset, signal)) {
    const rows = elements.take(chunk);
    if (rows.length > 0) yield rows;
    if (elements.goesOn) return;
  }
  if (!elements.ended) yield elements.end();
}

const [quote, backslash, comma, opened, closed] = [34, 92, 44, 91, 93];
const isOpening = (byte: number) => byte === opened || byte === 123;
const isClosing = (byte: number) => byte === closed || byte === 125;
const afterList = 'the list ends before the file does: what follows it is not read';
const isSpace = (byte: number) => byte === 32 || (byte >= 9 && byte <= 13);

/** Cuts the bytes of a JSON list into its elements; reading may start at any element. */
class ElementReader {
  ended = false;
  /** Something else follows the list, which is told as a problem. */
  goesOn = false;
  #parts: Buffer[] = [];
  #bytes = 0;
  #depth: number;
  #inString = false;
  #escaped = false;
  #line: number;
  /** Of the next byte, in the file. */
  #position: number;
  #start: number;

  constructor(from: Place) {
    // at the start of the file the list is still to be opened
    this.#depth = from.offset === 0 ? 0 : 1;
    this.#line = from.line;
    this.#position = this.#start = from.offset;
  }

  take(chunk: Buffer): ScannedRow[] {
    const rows: ScannedRow[] = [];
    let from = 0;
    for (let at = 0; at < chunk.length && !this.goesOn; at++) {
      const byte = chunk[at]!;
      if (this.ended) {
        if (isSpace(byte)) continue;
        this.goesOn = true;
        rows.push({ line: this.#line, offset: this.#position + at, problem: afterList });
        continue;
      }
      if (this.#inString) {
        if (this.#escaped) this.#escaped = false;
        else if (byte === backslash) this.#escaped = true;
        else if (byte === quote) this.#inString = false;
        continue;
      }
      if (byte === quote) this.#inString = true;
      else if (isOpening(byte)) {
        if (this.#depth++ === 0) {
          from = at + 1;
          this.#start = this.#position + from;
        }
      } else if (isClosing(byte) && --this.#depth === 0) {
        this.#finish(rows, chunk.subarray(from, at), at - from);
        this.ended = true;
      } else if (byte === comma && this.#depth === 1) {
        this.#finish(rows, chunk.subarray(from, at), at - from);
        from = at + 1;
        this.#start = this.#position + from;
      }
    }
    // The chunk's memory is used again.
    if (!this.ended && this.#depth > 0) this.#keep(Buffer.from(chunk.subarray(from)), chunk.length - from);
    this.#position += chunk.length;
    return rows;
  }

  end(): ScannedRow[] {
    const problem = 'the list does not end: the file is cut off';
    return [{ line: this.#line, offset: this.#start, problem }];
  }

  #keep(part: Buffer, bytes: number): void {
    this.#bytes += bytes;
    if (this.#bytes <= maxRowBytes) this.#parts.push(part);
    else this.#parts = [];
  }

  #finish(rows: ScannedRow[], last: Buffer, lastBytes: number): void {
    this.#keep(last, lastBytes);
    const place = { line: this.#line, offset: this.#start };
    const tooLong = this.#bytes > maxRowBytes;
    const bytes = Buffer.concat(this.#parts);
    this.#parts = [];
    this.#bytes = 0;
    // an empty list, or a comma after the last element
    if (!tooLong && bytes.every(isSpace)) return;
    this.#line++;
    if (tooLong) return void rows.push({ ...place, problem: tooLongText });
    const text = decode(bytes, false);
    rows.push({ ...place, ...(text === null ? { problem: notUtf8(bytes) } : jsonRow(text.trim())) });
  }
}

async function* columnRows(path: string, from: Place): AsyncGenerator<ScannedRow[]> {
  const refuse = (why: string) => new AtelierError('invalid_data', `The file ${why}.`, json.hint);
  const { size } = await stat(path);
  if (size > maxColumnsBytes) {
    throw refuse(`holds its columns one after another, and more than ${maxColumnsBytes >> 20} MiB of them`);
  }
  const bytes = await readFile(path);
  const text = decode(bytes, true);
  if (text === null) throw refuse(`cannot be read: ${notUtf8(bytes)}`);
  const whole = jsonRow(text);
  if ('problem' in whole) throw refuse(`cannot be read: ${whole.problem}`);
  const columns = Object.entries(whole.row);
  const [first] = columns;
  // {"data": [rows]}
  const wrapped = columns.length === 1 && Array.isArray(first?.[1]) && first[1].every(isObject);
  const lists = columns.filter((column): column is [string, unknown[]] => Array.isArray(column[1]));
  if (lists.length < columns.length || !first)
    throw refuse('is one object, and not all its values are lists');
  const count = lists[0]![1].length;
  const odd = lists.find(([, values]) => values.length !== count);
  if (odd) throw refuse(`has ${count} values of "${first[0]}", but ${odd[1].length} of "${odd[0]}"`);
  const row = (k: number) =>
    wrapped
      ? (lists[0]![1][k] as Record<string, unknown>)
      : Object.fromEntries(lists.map(([name, values]) => [name, values[k]]));
  const all = Array.from({ length: count }, (_, k) => ({ line: k + 1, offset: k, row: row(k) }));
  yield all.slice(from.offset);
}

const isObject = (value: unknown) => typeof value === 'object' && value !== null && !Array.isArray(value);
