/** A longer row is a problem, and is not kept in memory. */
export const maxRowBytes = 16 << 20;
export const tooLongText = `it is longer than ${maxRowBytes >> 20} MiB`;

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Text of bytes; null where they are not UTF-8. `first`: they begin the file, whose byte order mark is no text. */
export function decode(bytes: Uint8Array, first: boolean): string | null {
  try {
    const text = utf8.decode(bytes);
    return first && text.startsWith('\uFEFF') ? text.slice(1) : text;
  } catch {
    return null;
  }
}

/** Why bytes that `decode` refused are no text. */
export const notUtf8 = (bytes: Uint8Array) =>
  (bytes[0] === 0xff && bytes[1] === 0xfe) || (bytes[0] === 0xfe && bytes[1] === 0xff)
    ? 'it is UTF-16 text: save the file as UTF-8'
    : 'it is not UTF-8 text';
