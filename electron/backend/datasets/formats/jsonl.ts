import { chunksOf } from './chunks';
import type { Format, Place, ScannedRow } from './format';
import { jsonRow } from './json-row';
import { decode, maxRowBytes, notUtf8, tooLongText } from './text';

const newline = 10;

export const jsonl: Format = {
  name: 'JSON Lines',
  endings: ['.jsonl', '.ndjson'],
  hint: 'Each line is a row of its own: one JSON object, {"column": value}, as UTF-8 text.',
  begins: (head) => /^\uFEFF?\s*\{[^\n]*\}\s*\n\s*\{/.test(head.toString('utf8')),

  async *read(path, from, signal) {
    const lines = new LineReader(from);
    for await (const chunk of chunksOf(path, from.offset, signal)) {
      const rows = lines.take(chunk);
      if (rows.length > 0) yield rows;
    }
    const last = lines.end();
    if (last.length > 0) yield last;
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
    if (this.#bytes <= maxRowBytes) this.#parts.push(part);
    else this.#parts = [];
  }

  #finish(rows: ScannedRow[], newlineBytes: number): void {
    const place = { line: this.#line, offset: this.#offset };
    if (this.#bytes > maxRowBytes) rows.push({ ...place, problem: tooLongText });
    else {
      const bytes = Buffer.concat(this.#parts);
      const text = decode(bytes, this.#offset === 0);
      if (text === null) rows.push({ ...place, problem: notUtf8(bytes) });
      else if (text.trim() !== '') rows.push({ ...place, ...jsonRow(text) });
    }
    this.#offset += this.#bytes + newlineBytes;
    this.#line++;
    this.#parts = [];
    this.#bytes = 0;
  }
}
