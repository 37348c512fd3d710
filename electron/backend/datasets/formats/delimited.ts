import { AtelierError } from '../../../../shared/rpc/errors';
import { chunksOf } from './chunks';
import { START, type Format, type Place, type ScannedRow } from './format';
import { decode, maxRowBytes, notUtf8, tooLongText } from './text';

const quote = 34;
const newline = 10;
const returned = 13;

/**
 * Rows of text fields under a header (RFC 4180): a field in quotes may hold delimiters, line breaks and doubled
 * quotes. Values stay text: a right answer of 007 is not 7. An empty field is no value.
 */
export function delimited(
  name: string,
  endings: readonly string[],
  delimiterOf: (header: string) => string,
): Format {
  return {
    name,
    endings,
    hint: 'The first line names the columns; every further row has as many fields, as UTF-8 text.',
    begins: () => false,
    async *read(path, from, signal) {
      const header = await headerOf(path, delimiterOf);
      const records = new RecordReader(from.offset === 0 ? header.end : from, header.delimiter);
      for await (const chunk of chunksOf(path, records.position, signal)) {
        const rows = records.take(chunk).map((record) => rowOf(record, header));
        if (rows.length > 0) yield rows;
      }
      const last = records.end().map((record) => rowOf(record, header));
      if (last.length > 0) yield last;
    },
  };
}

interface Header {
  columns: string[];
  delimiter: string;
  /** Where the first row starts. */
  end: Place;
}

async function headerOf(path: string, delimiterOf: (header: string) => string): Promise<Header> {
  const records = new RecordReader(START, ',;\t');
  let first: DataRecord | undefined;
  for await (const chunk of chunksOf(path, 0)) {
    [first] = records.take(chunk);
    if (first) break;
  }
  first ??= records.end()[0];
  const refuse = (why: string) =>
    new AtelierError(
      'invalid_data',
      `The header, line ${first?.line ?? 1}: ${why}.`,
      'The first line names the columns.',
    );
  if (!first) return { columns: [], delimiter: ',', end: START };
  if (first.text === null) throw refuse(first.problem);
  const delimiter = delimiterOf(first.text);
  const fields = fieldsOf(first.text, delimiter);
  if (fields === null) throw refuse('a quoted name does not end');
  const columns = fields.map((field, k) => field.trim() || `column ${k + 1}`);
  const twice = columns.find((column, k) => columns.indexOf(column) < k);
  if (twice !== undefined) throw refuse(`the column "${twice}" stands twice`);
  return { columns, delimiter, end: first.next };
}

function rowOf(record: DataRecord, { columns, delimiter }: Header): ScannedRow {
  const { line, offset } = record;
  if (record.text === null) return { line, offset, problem: record.problem };
  const fields = fieldsOf(record.text, delimiter);
  if (fields === null) return { line, offset, problem: 'a quoted field does not end' };
  if (fields.length !== columns.length) {
    return { line, offset, problem: `it has ${fields.length} fields, the header ${columns.length}` };
  }
  return { line, offset, row: Object.fromEntries(columns.map((name, k) => [name, fields[k] || null])) };
}

/** Fields of a record; null where a quote is not closed. */
function fieldsOf(text: string, delimiter: string): string[] | null {
  const fields: string[] = [];
  for (let at = 0; ;) {
    let field = '';
    if (text[at] === '"') {
      for (at++; ;) {
        const end = text.indexOf('"', at);
        if (end < 0) return null;
        field += text.slice(at, end);
        at = end + 1;
        if (text[at] !== '"') break;
        field += '"';
        at++;
      }
    }
    const end = text.indexOf(delimiter, at);
    fields.push(field + text.slice(at, end < 0 ? undefined : end));
    if (end < 0) return fields;
    at = end + 1;
  }
}

type DataRecord = { line: number; offset: number; next: Place } & (
  { text: string } | { text: null; problem: string }
);

/** Cuts bytes into records: lines, but for the line breaks in quotes. A quote within a bare field is text. */
class RecordReader {
  #parts: Buffer[] = [];
  #bytes = 0;
  #quoted = false;
  /** Whether a quote at this place opens a quoted field, or goes on with one that a quote has closed. */
  #opens = true;
  #start: number;
  /** Of the record, and of the next byte. */
  #startLine: number;
  #line: number;

  constructor(
    from: Place,
    private readonly delimiters: string,
  ) {
    this.#start = from.offset;
    this.#startLine = this.#line = from.line;
  }

  get position(): number {
    return this.#start + this.#bytes;
  }

  take(chunk: Buffer): DataRecord[] {
    const records: DataRecord[] = [];
    const isDelimiter = new Set(Buffer.from(this.delimiters));
    let from = 0;
    for (let at = 0; at < chunk.length; at++) {
      const byte = chunk[at]!;
      if (byte === quote && (this.#quoted || this.#opens)) {
        this.#quoted = !this.#quoted;
        this.#opens = true;
        continue;
      }
      this.#opens = byte === newline || isDelimiter.has(byte);
      if (byte !== newline) continue;
      this.#line++;
      if (this.#quoted) continue;
      this.#keep(chunk.subarray(from, at + 1), at + 1 - from);
      this.#finish(records);
      from = at + 1;
    }
    // The chunk's memory is used again.
    this.#keep(Buffer.from(chunk.subarray(from)), chunk.length - from);
    return records;
  }

  end(): DataRecord[] {
    const records: DataRecord[] = [];
    if (this.#bytes > 0) this.#finish(records);
    return records;
  }

  #keep(part: Buffer, bytes: number): void {
    this.#bytes += bytes;
    if (this.#bytes <= maxRowBytes) this.#parts.push(part);
    else this.#parts = [];
  }

  #finish(records: DataRecord[]): void {
    const next = { offset: this.#start + this.#bytes, line: this.#line };
    const place = { line: this.#startLine, offset: this.#start, next };
    if (this.#bytes > maxRowBytes) {
      const open = this.#quoted ? ': a quote in it is not closed' : '';
      records.push({ ...place, text: null, problem: `${tooLongText}${open}` });
    } else {
      let bytes = Buffer.concat(this.#parts);
      if (bytes.at(-1) === newline) bytes = bytes.subarray(0, -1);
      if (bytes.at(-1) === returned) bytes = bytes.subarray(0, -1);
      const text = decode(bytes, this.#start === 0);
      if (text === null) records.push({ ...place, text, problem: notUtf8(bytes) });
      else if (text !== '') records.push({ ...place, text });
    }
    this.#start = next.offset;
    this.#startLine = this.#line;
    this.#parts = [];
    this.#bytes = 0;
    this.#quoted = false;
    this.#opens = true;
  }
}
