import type { z } from 'zod';
import { algorithmByKey, dataKindOf, type DataKind } from '../../../shared/algorithms';
import type { PreviewRow } from '../../../shared/contract/datasets';
import { AtelierError } from '../../../shared/rpc/errors';
import { isRowError, makeRow, tooLong, type PrepareOptions } from './prepare';
import type { Example } from './rows';
import type { DataRow } from './scan';

export type Preview = z.infer<typeof PreviewRow>;

/** What an algorithm takes a row for. */
export function dataUse(key: string): DataKind {
  const algorithm = algorithmByKey(key);
  if (algorithm) return dataKindOf(algorithm);
  throw new AtelierError('invalid_input', `There is no algorithm "${key}".`, undefined, {
    path: 'algorithm',
  });
}

/** A row as the model sees it: once, or once for each of its answers. A row that is left out says why. */
export async function previewRow(row: DataRow, use: DataKind, options: PrepareOptions): Promise<Preview[]> {
  try {
    const parts = await partsOf(row, use, options);
    return await Promise.all(parts.map((part) => shown(row.line, part, options)));
  } catch (error) {
    if (!isRowError(error)) throw error;
    const empty = { pieces: [], ids: new Int32Array(0), lossMask: new Uint8Array(0) };
    return [{ line: row.line, ...empty, truncated: false, problem: error.message }];
  }
}

type Part = Example & { part?: Preview['part'] };

async function partsOf(row: DataRow, use: DataKind, options: PrepareOptions): Promise<Part[]> {
  if (use === 'rollouts') {
    const { ids } = await makeRow(use, row, options);
    return [{ ids, lossMask: new Uint8Array(ids.length) }];
  }
  if (use === 'pairs') {
    const { chosen, rejected } = await makeRow(use, row, options);
    return [
      { ...chosen, part: 'better' },
      { ...rejected, part: 'worse' },
    ];
  }
  if (use === 'rated') {
    const rated = await makeRow(use, row, options);
    return [{ ...rated, part: rated.good ? 'good' : 'bad' }];
  }
  return [await makeRow(use, row, options)];
}

async function shown(line: number, { ids, lossMask, part }: Part, options: PrepareOptions): Promise<Preview> {
  const limit = options.maxTokens ?? Infinity;
  const some = ids.slice(0, limit);
  return {
    line,
    ...(part ? { part } : {}),
    pieces: await options.text.pieces(some),
    ids: some,
    lossMask: lossMask.slice(0, limit),
    truncated: ids.length > limit,
    ...(ids.length > limit ? { problem: tooLong(ids.length, limit) } : {}),
  };
}
