import type { GeneratedRow } from '../../../native/face';
import type { ExampleRow, PromptRow, RowList } from '../datasets';
import type { TrainRow } from './batch';
import { pairRows, ratedRows } from './gather-rated';
import { exampleRows } from './gathered';
import type { RunData } from './job';
import type { ProbeRequest } from './probe-request';
import { sampledTrainRow } from './train-row';

export const firstRows = <Row>(rows: RowList<Row>, count = Infinity): Row[] =>
  Array.from({ length: Math.min(rows.length, count) }, (_, k) => rows.at(k)!);

/** The first rows of a dataset as a step takes them. */
export function datasetRows(data: RunData): TrainRow[] {
  if (data.kind === 'pairs') return pairRows(firstRows(data.rows));
  if (data.kind === 'rated') return ratedRows(firstRows(data.rows));
  return exampleRows(firstRows(data.rows as RowList<ExampleRow>));
}

/** Sampled answers as a step would train on them, and the share of them that is. */
export async function judgedRows(
  { algorithm, params, needs, data }: Pick<ProbeRequest, 'algorithm' | 'params' | 'needs' | 'data'>,
  rows: readonly GeneratedRow[],
): Promise<{ rows: TrainRow[]; trainedShare: number }> {
  const prompts = firstRows(data.rows as RowList<PromptRow>, needs.prompts);
  const limit = needs.maxNewTokens ?? 512;
  // rewards of either kind in each group: which rows are trained then is the algorithm's own answer
  const { use, learns, advantage } = await algorithm.advantages!(
    {
      reward: rows.map((_, k) => k % 2),
      group: rows.map((row) => row.prompt),
      truncated: rows.map((row) => row.finish === 'length'),
      length: rows.map((row) => row.ids.length),
      samplerLogp: rows.map((row) => row.logprob),
      refLogp: rows.map((row) => row.logprob),
      value: rows.map((row) => new Float32Array(row.ids.length)),
    },
    params,
  );
  return {
    trainedShare: use.filter((u) => u === 'train').length / use.length,
    rows: rows.map((row, k): TrainRow => {
      const prompt = prompts[row.prompt]!.ids;
      // what the budget cut off is filled up, so that training is measured at its real length
      const missing = row.finish === 'cancelled' ? Math.max(0, limit - row.ids.length) : 0;
      const filled = new Int32Array(row.ids.length + missing).fill(prompt[0]!);
      filled.set(row.ids);
      return sampledTrainRow(
        { prompt, ids: filled, logprob: row.logprob },
        {
          group: row.prompt,
          use: use[k] === 'train' ? 'train' : 'skip',
          learns: learns[k]!,
          advantage: advantage[k]!,
        },
      );
    }),
  };
}
