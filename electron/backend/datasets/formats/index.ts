import { basename } from 'node:path';
import { AtelierError } from '../../../../shared/rpc/errors';
import { arrow } from './arrow';
import { headOf } from './chunks';
import { csv } from './csv';
import type { Format } from './format';
import { json } from './json';
import { jsonl } from './jsonl';
import { parquet } from './parquet';
import { tsv } from './tsv';

export { START, type Format, type Place, type ScannedRow } from './format';

/** In the order in which content is told apart: what is certain first. */
const formats: readonly Format[] = [parquet, arrow, jsonl, json, csv, tsv];
const headBytes = 64 << 10;
const gzipped = '.gz';

/** A kind of file, and whether it is packed with gzip. */
export interface FileKind {
  format: Format;
  gzip: boolean;
}

/** What a file's name says; null where it says nothing. */
export function kindByName(name: string): FileKind | null {
  const lower = basename(name).toLowerCase();
  const gzip = lower.endsWith(gzipped);
  const bare = gzip ? lower.slice(0, -gzipped.length) : lower;
  const format = formats.find(({ endings }) => endings.some((ending) => bare.endsWith(ending)));
  return format ? { format, gzip } : null;
}

/**
 * The kind of a file by the name it was given, or by its content: an entry of the Hub's cache is a link to a name that
 * says nothing.
 */
export async function kindOf(path: string, given: string): Promise<FileKind> {
  const named = kindByName(given) ?? kindByName(path);
  if (named) return named;
  const head = await headOf(path, headBytes);
  const format = formats.find((each) => each.begins(head));
  if (format && !/\.[a-z]\w{0,7}$/i.test(basename(given))) return { format, gzip: false };
  throw unknownKind(basename(given));
}

export function unknownKind(name: string): AtelierError {
  const known = formats.map((format) => `${format.name} (${format.endings.join(', ')})`).join(', ');
  return new AtelierError(
    'unsupported',
    `"${name}" is not a data file that can be read.`,
    `Formats: ${known}; text files also packed, as .gz.`,
  );
}
