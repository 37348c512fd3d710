import { Dropped, first, makeRows, type DataRow, type RowOf } from '../datasets';
import type { OpenModel } from '../models';
import { rewardHash } from '../rewards';
import type { Sources, UsableModel } from '../runs';
import type { ModelText } from '../text';
import type { Scorer } from '../train';
import type { Library } from './library';

/** Rows between two reports of progress. */
const PROGRESS_ROWS = 100;

/** A model with everything of its text. */
export type TextModel = UsableModel & { text: ModelText };

export async function openModel(library: Library, id: string): Promise<TextModel> {
  const open = await library.models.open(id);
  return Object.assign(usable(open), { text: open.text });
}

function usable({ id, name, path, contextLength, fingerprint, templateHash, inspection }: OpenModel) {
  return {
    id,
    name,
    path,
    contextLength,
    layers: inspection.layers ?? 0,
    hiddenSize: inspection.hiddenSize ?? 0,
    hash: fingerprint,
    templateHash,
    quantizedBits: inspection.quantizedBits,
    scalarHead: inspection.scalarHead,
    mixture: inspection.mixture,
    softmaxRouters: inspection.softmaxRouters,
    packs: inspection.packs,
    // f32 on every device's first load; files may be smaller. A scale and a bias of each 64 take a bit a number.
    bytes:
      ((inspection.parameters ?? 0) *
        (inspection.quantizedBits === null ? 32 : inspection.quantizedBits + 1)) /
      8,
  };
}

/** What runs take from the library. */
export function librarySources(library: Library): Sources {
  const { datasets, rewards, scoring, algorithms } = library;
  const textOf = async (model: UsableModel) => (await openModel(library, model.id)).text;
  return {
    model: (id) => openModel(library, id) as Promise<UsableModel>,
    async count(dataset, limit) {
      return limit === undefined ? (await datasets.whole(dataset)).rows : (await datasets.get(dataset)).rows;
    },
    async rows(kind, dataset, { mapping, model, limit, only, onProgress, ...options }) {
      const rows = datasets.rowFile<RowOf[typeof kind]>();
      const close = () => rows.close();
      const dropped = new Dropped();
      try {
        if (limit === undefined) {
          const { problems } = await datasets.whole(dataset);
          const [one] = problems.first;
          if (one) dropped.add('unreadable', one.line, one.message, problems.count);
        }
        const open = await datasets.open(dataset, mapping, kind);
        const chosen = first(only ? chosenRows(open.rows, only) : open.rows, limit);
        const text = await textOf(model);
        const total = Math.min(open.total, limit ?? Infinity);
        let done = 0;
        for await (const made of makeRows(kind, chosen, { ...options, text, mapping: open.mapping })) {
          if (made.left) dropped.add(made.left.reason, made.line, made.left.message);
          else rows.push(made.row);
          if (++done % PROGRESS_ROWS === 0) onProgress?.(done, total);
        }
      } catch (error) {
        close();
        throw error;
      }
      return { rows, left: dropped.list(), close };
    },
    ownAlgorithm: (key, code) => algorithms.find(key, code),
    conversation: async (model, messages) => (await textOf(model)).conversation(messages),
    reward: (id) => rewards.get(id),
    async scorer(reward): Promise<Scorer> {
      const { language, code, params, takes } = await scoring.settle(reward);
      return {
        hash: rewardHash(code, params),
        takes,
        score: (samples, { seed, step, breaks }, signal) =>
          scoring.score(
            {
              language,
              code,
              params,
              seed: seed % 2 ** 31,
              step,
              breaks,
              indices: samples.map((sample) => sample.index),
              samples: samples.map(({ prompt, completion, ids }) => ({
                prompt: prompt.text,
                completion,
                answer: prompt.answer,
                messages: prompt.messages && [...prompt.messages, { role: 'assistant', content: completion }],
                row: prompt.row,
                tokens: Array.from(ids),
              })),
            },
            signal,
          ),
      };
    },
  };
}

async function* chosenRows(
  rows: AsyncIterable<DataRow>,
  only: (row: number) => boolean,
): AsyncGenerator<DataRow> {
  let number = 0;
  for await (const row of rows) if (only(number++)) yield row;
}
