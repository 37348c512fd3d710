import { randomBytes } from 'node:crypto';
import { closeSync, mkdirSync, openSync, readSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { decodeMessage, encodeMessage } from '../../../shared/rpc/codec';
import type { RowList } from './rows';

const writeBytes = 1 << 20;

/**
 * Rows in a file, so that a run may have more of them than memory holds. The file has no name: whatever ends the
 * process, it is gone with it.
 */
export class RowFile<T> implements RowList<T> {
  readonly #file: number;
  /** Where each row ends. */
  readonly #ends: number[] = [];
  #waiting: Uint8Array[] = [];
  #waitingBytes = 0;
  #written = 0;

  constructor(folder: string) {
    mkdirSync(folder, { recursive: true });
    const path = join(folder, `${randomBytes(8).toString('hex')}.rows`);
    this.#file = openSync(path, 'wx+', 0o600);
    rmSync(path);
  }

  get length(): number {
    return this.#ends.length;
  }

  push(row: T): void {
    const bytes = encodeMessage(row);
    this.#waiting.push(bytes);
    this.#waitingBytes += bytes.length;
    this.#ends.push(this.#written + this.#waitingBytes);
    if (this.#waitingBytes >= writeBytes) this.#write();
  }

  at(index: number): T | undefined {
    const end = this.#ends[index];
    if (end === undefined) return undefined;
    if (end > this.#written) this.#write();
    const start = index === 0 ? 0 : this.#ends[index - 1]!;
    const bytes = new Uint8Array(end - start);
    for (let at = 0; at < bytes.length;) {
      const read = readSync(this.#file, bytes, at, bytes.length - at, start + at);
      if (read === 0) throw new Error('a file of prepared rows was cut off');
      at += read;
    }
    return decodeMessage(bytes) as T;
  }

  close(): void {
    closeSync(this.#file);
  }

  #write(): void {
    const bytes = Buffer.concat(this.#waiting);
    for (let at = 0; at < bytes.length;) {
      at += writeSync(this.#file, bytes, at, bytes.length - at, this.#written + at);
    }
    this.#written += bytes.length;
    this.#waiting = [];
    this.#waitingBytes = 0;
  }
}
