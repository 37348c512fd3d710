import type { FileHandle } from 'node:fs/promises';

const maxMetadataBytes = 16 << 20;
const maxBodyBytes = 512 << 20;
/** Rows are cheap to claim: many of them need some bytes, packed or not. */
const isCredible = (rows: number, bytes: number) => rows >= 0 && (rows <= 1 << 16 || rows <= 64 * bytes);
const kinds = ['none', 'schema', 'dictionary', 'batch'] as const;

/** A message of Arrow's IPC format (Arrow columnar format 1.5, "Encapsulated message format"). */
export interface ArrowMessage {
  kind: 'schema' | 'dictionary' | 'batch';
  /** Of a batch; otherwise 0. */
  rows: number;
  /** In the file, [start, end). */
  start: number;
  end: number;
}

/** The message at a place of a file of `size` bytes; null at the end of the stream. */
export async function messageAt(file: FileHandle, at: number, size: number): Promise<ArrowMessage | null> {
  if (at + 4 > size) return null;
  const prefix = await read(file, at, Math.min(8, size - at));
  // before Arrow 0.15 the length stood alone
  const continued = prefix.readInt32LE(0) === -1;
  if (continued && prefix.length < 8) throw cut();
  const length = prefix.readInt32LE(continued ? 4 : 0);
  if (length === 0) return null;
  const metadataAt = at + (continued ? 8 : 4);
  if (length < 0 || length > maxMetadataBytes)
    throw new RangeError(`a message says ${length} bytes of metadata`);
  if (metadataAt + length > size) throw cut();
  const metadata = new FlatTable(await read(file, metadataAt, length));
  const kind = kinds[metadata.byte(1)];
  if (kind === undefined || kind === 'none') throw new RangeError('it holds something other than a table');
  const body = metadata.long(3);
  const end = metadataAt + length + body;
  if (body < 0 || end > size) throw cut();
  if (body > maxBodyBytes)
    throw new RangeError(`a record batch has ${body >> 20} MiB, more than ${maxBodyBytes >> 20}`);
  const rows = kind === 'batch' ? metadata.table(2).long(0) : 0;
  if (!isCredible(rows, body)) throw new RangeError(`a record batch says it has ${rows} rows`);
  return { kind, rows, start: at, end };
}

const cut = () => new RangeError('it is cut off');

async function read(file: FileHandle, at: number, length: number): Promise<Buffer> {
  const bytes = Buffer.alloc(length);
  const { bytesRead } = await file.read(bytes, 0, length, at);
  if (bytesRead < length) throw cut();
  return bytes;
}

/** A table of a FlatBuffer: fields by number. Buffer's own reads refuse what lies outside. */
class FlatTable {
  readonly #at: number;

  constructor(
    private readonly bytes: Buffer,
    at?: number,
  ) {
    this.#at = at ?? bytes.readUInt32LE(0);
  }

  byte(field: number): number {
    const at = this.#field(field);
    return at === null ? 0 : this.bytes.readUInt8(at);
  }

  long(field: number): number {
    const at = this.#field(field);
    return at === null ? 0 : Number(this.bytes.readBigInt64LE(at));
  }

  table(field: number): FlatTable {
    const at = this.#field(field);
    if (at === null) throw new RangeError('a message has no content');
    return new FlatTable(this.bytes, at + this.bytes.readUInt32LE(at));
  }

  #field(field: number): number | null {
    const slots = this.#at - this.bytes.readInt32LE(this.#at);
    const slot = 4 + 2 * field;
    if (slot >= this.bytes.readUInt16LE(slots)) return null;
    const offset = this.bytes.readUInt16LE(slots + slot);
    return offset === 0 ? null : this.#at + offset;
  }
}
