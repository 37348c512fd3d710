/** A child that sends more at once is not ours any more. */
const LARGEST_FRAME = 64 << 20;

/** A frame as resources/python/reward_host.py reads it: its length, 4 bytes little endian, and JSON. */
export function frame(message: unknown): Buffer {
  const body = Buffer.from(JSON.stringify(message));
  const head = Buffer.alloc(4);
  head.writeUInt32LE(body.length);
  return Buffer.concat([head, body]);
}

/** Takes bytes as they come and gives whole messages. @throws Error where they are no frames */
export class FrameReader {
  #chunks: Buffer[] = [];
  #size = 0;

  *read(chunk: Buffer): Generator {
    this.#chunks.push(chunk);
    this.#size += chunk.length;
    while (this.#size >= 4) {
      if (this.#chunks.length > 1) this.#chunks = [Buffer.concat(this.#chunks)];
      const [bytes] = this.#chunks as [Buffer];
      const length = bytes.readUInt32LE(0);
      if (length > LARGEST_FRAME) throw new Error('it broke the protocol');
      if (this.#size < 4 + length) break;
      this.#chunks = [bytes.subarray(4 + length)];
      this.#size -= 4 + length;
      yield JSON.parse(bytes.toString('utf8', 4, 4 + length));
    }
  }
}
