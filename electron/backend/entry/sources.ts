import { prepareRows, type DataRow, type PromptRow } from '../datasets';
import type { OpenModel } from '../models';
import { rewardHash } from '../rewards';
import type { Sources, UsableModel } from '../runs';
import type { ModelText } from '../text';
import type { Scorer } from '../train';
import type { Library } from './library';

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
    hash: fingerprint,
    templateHash,
    // f32 on every device's first load; files may be smaller
    bytes: (inspection.parameters ?? 0) * 4,
  };
}

/** What the person asked: the last user message. */
export function asked({ messages, text }: Pick<PromptRow, 'messages' | 'text'>): string {
  const content = messages.findLast((message) => message.role === 'user')?.content;
  return typeof content === 'string' ? content : text;
}

/** What runs take from the library. */
export function librarySources(library: Library): Sources {
  const { datasets, rewards, scoring } = library;
  const textOf = async (model: UsableModel) => (await openModel(library, model.id)).text;
  return {
    model: (id) => openModel(library, id) as Promise<UsableModel>,
    async rows(kind, dataset, { mapping, model, maxTokens, completionOnly, limit }) {
      const open = await datasets.open(dataset, mapping, kind);
      const options = { text: await textOf(model), mapping: open.mapping, maxTokens };
      const { rows, problems } = await prepareRows(kind, first(open.rows, limit), options);
      for (const row of rows) {
        if ('messages' in row) row.text = asked(row);
        else if (kind === 'examples' && !completionOnly && 'lossMask' in row) row.lossMask.fill(1);
      }
      return { rows, left: problems };
    },
    reward: (id) => rewards.get(id),
    async scorer(reward): Promise<Scorer> {
      const { language, code, params } = await scoring.settle(reward);
      return {
        hash: rewardHash(code, params),
        score: (samples, { seed, step }, signal) =>
          scoring.score(
            {
              language,
              code,
              params,
              seed: seed % 2 ** 31,
              step,
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

export async function* first(rows: AsyncIterable<DataRow>, limit = Infinity): AsyncGenerator<DataRow> {
  let count = 0;
  for await (const row of rows) {
    if (count++ >= limit) return;
    yield row;
  }
}
