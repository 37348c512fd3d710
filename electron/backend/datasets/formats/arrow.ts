import { open, type FileHandle } from 'node:fs/promises';
import { CompressionType, setCompressionCodec, tableFromIPC } from '@uwdata/flechette';
import { decompressZstd } from 'hyparquet-compressors';
import { messageAt, type ArrowMessage } from './arrow-messages';
import type { Format, ScannedRow } from './format';
import { unpackLz4Frame } from './lz4-frame';
import { plain } from './values';

const rowsAtOnce = 1024;
const magic = 'ARROW1';

const unused = () => {
  throw new Error('Arrow data is never written');
};
// numbers are read where they lie: `slice` gives memory whose start suits all of them
setCompressionCodec(CompressionType.ZSTD, {
  encode: unused,
  decode: (bytes) => decompressZstd(bytes).slice(),
});
setCompressionCodec(CompressionType.LZ4_FRAME, { encode: unused, decode: (bytes) => unpackLz4Frame(bytes) });

/** Arrow's IPC format, as a file or as a stream, batch by batch; decoded by flechette 2.6. Places count rows. */
export const arrow: Format = {
  name: 'Arrow',
  endings: ['.arrow', '.feather', '.ipc'],
  hint: 'Write it anew, in record batches of less than 512 MiB.',
  begins: (head) =>
    head.toString('latin1', 0, 6) === magic || (head.length > 8 && head.readInt32LE(0) === -1),

  async *read(path, from, signal) {
    const file = await open(path, 'r');
    try {
      // what every batch needs: the schema and the dictionaries so far
      const before: Uint8Array[] = [];
      let row = 0;
      for await (const message of messagesOf(file)) {
        signal?.throwIfAborted();
        if (message.kind !== 'batch') {
          before.push(await bytesOf(file, message));
          continue;
        }
        const end = row + message.rows;
        if (end > from.offset) {
          const table = tableFromIPC([...before, await bytesOf(file, message)], {
            useBigInt: true,
            useDate: true,
            useMap: true,
          });
          if (table.numRows !== message.rows)
            throw new RangeError('a record batch has fewer rows than it says');
          for (let at = Math.max(row, from.offset); at < end; at += rowsAtOnce) {
            signal?.throwIfAborted();
            yield rowsOf(table, at - row, Math.min(end, at + rowsAtOnce) - row, row);
          }
        }
        row = end;
      }
    } finally {
      await file.close();
    }
  },
};

type Table = ReturnType<typeof tableFromIPC>;

function rowsOf(table: Table, from: number, to: number, before: number): ScannedRow[] {
  const columns = table.names.map((name, k) => [String(name), table.getChildAt(k)] as const);
  return Array.from({ length: to - from }, (_, k): ScannedRow => {
    const at = from + k;
    return {
      line: before + at + 1,
      offset: before + at,
      row: Object.fromEntries(columns.map(([name, column]) => [name, plain(column.at(at))])),
    };
  });
}

async function* messagesOf(file: FileHandle): AsyncGenerator<ArrowMessage> {
  const { size } = await file.stat();
  const head = Buffer.alloc(8);
  await file.read(head, 0, 8, 0);
  for (let at = head.toString('latin1', 0, 6) === magic ? 8 : 0; ;) {
    const message = await messageAt(file, at, size);
    if (message === null) return;
    yield message;
    at = message.end;
  }
}

async function bytesOf(file: FileHandle, { start, end }: ArrowMessage): Promise<Uint8Array> {
  const bytes = new Uint8Array(end - start);
  const { bytesRead } = await file.read(bytes, 0, bytes.length, start);
  if (bytesRead < bytes.length) throw new RangeError('it is cut off');
  return bytes;
}
