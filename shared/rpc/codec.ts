import { decode, encode, ExtensionCodec } from '@msgpack/msgpack';

/** Bytes of one message at most; the peer's limit on a frame is the same. */
export const MAX_MESSAGE_BYTES = 1024 * 1024;

// Ext type by kind: part of the wire, never renumber. Uint8Array is MessagePack's own `bin`.
const arrays = [
  [1, Int32Array],
  [2, Float32Array],
  [3, Float64Array],
  [4, Uint32Array],
  [5, Int16Array],
  [6, Uint16Array],
  [7, Int8Array],
] as const;

const codec = new ExtensionCodec();
for (const [type, Kind] of arrays) {
  codec.register({
    type,
    encode: (value) =>
      value instanceof Kind ? new Uint8Array(value.buffer, value.byteOffset, value.byteLength) : null,
    decode: (bytes) => {
      if (bytes.byteLength % Kind.BYTES_PER_ELEMENT !== 0) throw new RangeError('typed array cut short');
      // copied: the bytes lie unaligned within the message; a Buffer's own slice would be no copy
      return new Kind(Uint8Array.from(bytes).buffer);
    },
  });
}

/** MessagePack; typed arrays as little-endian extensions, NaN and infinities kept, undefined fields dropped. */
export function encodeMessage(message: unknown): Uint8Array<ArrayBuffer> {
  return encode(message, { extensionCodec: codec, ignoreUndefined: true, maxDepth: 100 });
}

/** @throws on anything that is not one whole message. */
export function decodeMessage(bytes: ArrayBuffer | Uint8Array): unknown {
  return decode(bytes, { extensionCodec: codec });
}
