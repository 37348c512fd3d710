import { open, type FileHandle } from 'node:fs/promises';
import { parquetMetadataAsync, parquetReadObjects, type AsyncBuffer, type FileMetaData } from 'hyparquet';
import { compressors } from 'hyparquet-compressors';
import { AtelierError } from '../../../../shared/rpc/errors';
import type { Format, ScannedRow } from './format';
import { plain } from './values';

const rowsAtOnce = 1024;
/** A row group is unpacked as a whole. */
const maxGroupBytes = 1 << 30;
const magic = 'PAR1';

/** Reads with hyparquet 1.33; places count rows. */
export const parquet: Format = {
  name: 'Parquet',
  endings: ['.parquet'],
  hint: 'Write it anew, in row groups of less than 1 GiB.',
  begins: (head) => head.toString('latin1', 0, 4) === magic,

  async *read(path, from, signal) {
    const handle = await open(path, 'r');
    try {
      const file = await bufferOf(handle);
      const metadata = await parquetMetadataAsync(file);
      checkSizes(metadata);
      const total = Number(metadata.num_rows);
      for (let start = from.offset; start < total; start += rowsAtOnce) {
        signal?.throwIfAborted();
        const rows = await parquetReadObjects({
          file,
          metadata,
          compressors,
          // bytes that no one called text are none
          utf8: false,
          geoparquet: false,
          rowStart: start,
          rowEnd: Math.min(total, start + rowsAtOnce),
        });
        yield rows.map((row, k): ScannedRow => ({
          line: start + k + 1,
          offset: start + k,
          row: plain(row) as Record<string, unknown>,
        }));
      }
    } finally {
      await handle.close();
    }
  },
};

async function bufferOf(handle: FileHandle): Promise<AsyncBuffer> {
  const { size } = await handle.stat();
  return {
    byteLength: size,
    async slice(start, end = size) {
      if (start < 0 || end > size || end < start) throw new RangeError('it names bytes beyond its end');
      const bytes = new Uint8Array(end - start);
      const { bytesRead } = await handle.read(bytes, 0, bytes.length, start);
      if (bytesRead < bytes.length) throw new RangeError('it is cut off');
      return bytes.buffer;
    },
  };
}

function checkSizes({ num_rows, row_groups }: FileMetaData): void {
  const rows = row_groups.reduce((sum, group) => sum + group.num_rows, 0n);
  if (rows !== num_rows || row_groups.some((group) => group.num_rows < 0n)) {
    throw new RangeError(`its row groups have ${rows} rows, the file says ${num_rows}`);
  }
  const large = row_groups.find((group) => group.total_byte_size > maxGroupBytes);
  if (!large) return;
  throw new AtelierError(
    'unsupported',
    `A row group of the file takes ${Number(large.total_byte_size / 1_048_576n)} MiB in memory; at most ${maxGroupBytes >> 20} MiB can be read.`,
    parquet.hint,
  );
}
