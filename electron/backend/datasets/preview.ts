import type { z } from 'zod';
import { algorithmByKey } from '../../../shared/algorithms';
import type { PreviewRow } from '../../../shared/contract/datasets';
import { AtelierError } from '../../../shared/rpc/errors';
import type { Use } from './mapping';
import { promptRow, isRowError, tooLong, type PrepareOptions } from './prepare';
import { trainingExample } from './row-text';
import type { DataRow } from './scan';

export type Preview = z.infer<typeof PreviewRow>;

/** Whether an algorithm samples answers to the data's prompts or learns the data's answers. */
export function dataUse(key: string): Use {
  const algorithm = algorithmByKey(key);
  if (!algorithm)
    throw new AtelierError('invalid_input', `There is no algorithm "${key}".`, undefined, {
      path: 'algorithm',
    });
  return algorithm.needs(algorithm.params.parse({})).data;
}

/** A row as the model sees it. A row that is left out says why. */
export async function previewRow(row: DataRow, use: Use, options: PrepareOptions): Promise<Preview> {
  try {
    const { text, ids, lossMask } =
      use === 'examples'
        ? await options.text.example(trainingExample(row.row, options.mapping))
        : { lossMask: null, ...(await promptRow(row, options)) };
    const limit = options.maxTokens ?? Infinity;
    const shown = ids.slice(0, limit);
    return {
      line: row.line,
      text,
      pieces: await options.text.pieces(shown),
      ids: shown,
      lossMask: lossMask?.slice(0, limit) ?? new Uint8Array(shown.length),
      truncated: ids.length > limit,
      ...(ids.length > limit ? { problem: tooLong(ids.length, limit) } : {}),
    };
  } catch (error) {
    if (!isRowError(error)) throw error;
    const empty = { text: '', pieces: [], ids: new Int32Array(0), lossMask: new Uint8Array(0) };
    return { line: row.line, ...empty, truncated: false, problem: error.message };
  }
}
