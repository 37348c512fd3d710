const magic = 0x184d2204;
const maxBytes = 1 << 30;

/** Bytes of an LZ4 frame (lz4 frame format 1.6.3). Blocks may look back into those before them. */
export function unpackLz4Frame(frame: Uint8Array): Uint8Array {
  const view = new DataView(frame.buffer, frame.byteOffset, frame.byteLength);
  if (view.getUint32(0, true) !== magic) throw new RangeError('its LZ4 data has no frame');
  const flags = view.getUint8(4);
  const checksum = flags & 0x10 ? 4 : 0;
  const out = new Growing();
  let at = 7 + (flags & 0x08 ? 8 : 0) + (flags & 0x01 ? 4 : 0);
  for (;;) {
    const word = view.getUint32(at, true);
    at += 4;
    if (word === 0) return out.bytes();
    const size = word & 0x7fffffff;
    if (at + size > frame.length) throw new RangeError('its LZ4 data is cut off');
    const block = frame.subarray(at, at + size);
    if (word & 0x80000000) out.append(block);
    else unpackBlock(block, out);
    at += size + checksum;
  }
}

/** LZ4 block format: literals, then a match in what is unpacked already, and so on; the last part is literals. */
function unpackBlock(block: Uint8Array, out: Growing): void {
  let at = 0;
  const more = (length: number) => {
    if (length < 15) return length;
    for (let byte = 255; byte === 255; length += byte) byte = byteAt(block, at++);
    return length;
  };
  while (at < block.length) {
    const token = byteAt(block, at++);
    const literals = more(token >> 4);
    if (at + literals > block.length) throw new RangeError('its LZ4 data is cut off');
    out.append(block.subarray(at, at + literals));
    at += literals;
    if (at === block.length) return;
    const distance = byteAt(block, at) | (byteAt(block, at + 1) << 8);
    at += 2;
    out.repeat(distance, more(token & 15) + 4);
  }
}

function byteAt(block: Uint8Array, at: number): number {
  const byte = block[at];
  if (byte === undefined) throw new RangeError('its LZ4 data is cut off');
  return byte;
}

class Growing {
  #bytes = new Uint8Array(1 << 16);
  #length = 0;

  bytes(): Uint8Array {
    return this.#bytes.slice(0, this.#length);
  }

  append(part: Uint8Array): void {
    this.#reserve(part.length);
    this.#bytes.set(part, this.#length);
    this.#length += part.length;
  }

  repeat(distance: number, length: number): void {
    if (distance === 0 || distance > this.#length) throw new RangeError('its LZ4 data looks back too far');
    this.#reserve(length);
    const bytes = this.#bytes;
    if (distance >= length) {
      const start = this.#length - distance;
      bytes.copyWithin(this.#length, start, start + length);
      this.#length += length;
      return;
    }
    // byte by byte: the match overlaps what it writes
    for (let end = this.#length + length; this.#length < end; this.#length++) {
      bytes[this.#length] = bytes[this.#length - distance]!;
    }
  }

  #reserve(more: number): void {
    const needed = this.#length + more;
    if (needed <= this.#bytes.length) return;
    if (needed > maxBytes) throw new RangeError(`its LZ4 data unpacks to more than ${maxBytes >> 20} MiB`);
    const larger = new Uint8Array(Math.max(needed, 2 * this.#bytes.length));
    larger.set(this.#bytes);
    this.#bytes = larger;
  }
}
