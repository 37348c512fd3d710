import type { AtelierContract } from '../../../shared/contract';
import { AtelierError, type Handlers } from '../../../shared/rpc';
import type { Runs } from '../runs';
import type { Library } from './library';
import { LatestNumber } from './latest-number';
import { openModel } from './sources';

type All = Handlers<AtelierContract>;

/** The verbs of `models`. */
export function modelVerbs({ models, roots }: Library, runs: Runs): All['models'] {
  return {
    list: () => models.list(),
    add: (input) => models.add(input),
    async remove({ id }) {
      const user = runs.uses('model', id);
      if (user !== null)
        throw new AtelierError('conflict', `The run "${user}" uses this model.`, 'Stop it first.');
      await models.remove(id);
      return {};
    },
    adapters: ({ model }) => runs.adapters(model),
    roots: () => roots.list(),
    browse: ({ path }) => roots.browse(path),
  };
}

/** The verbs of `datasets`. */
export function datasetVerbs(library: Library, runs: Runs): All['datasets'] {
  const { datasets } = library;
  return {
    list: () => datasets.list(),
    add: (input) => datasets.add(input),
    async remove({ id }) {
      const user = runs.uses('dataset', id);
      if (user !== null)
        throw new AtelierError('conflict', `The run "${user}" uses this data set.`, 'Stop it first.');
      await datasets.remove(id);
      return {};
    },
    setMapping: (input) => datasets.setMapping(input),
    rows: (input) => datasets.rows(input),
    preview: async ({ model, ...input }) => datasets.preview(input, (await openModel(library, model)).text),
    async *statistics({ model, ...input }, { signal }) {
      const { text } = await openModel(library, model);
      const count = new LatestNumber();
      let total = 0;
      const counting = datasets
        .statistics(input, text, signal, (looked, of) => {
          total = of;
          count.set(looked);
        })
        .finally(() => count.end());
      counting.catch(() => undefined);
      for await (const done of count) yield { kind: 'progress', done, total };
      yield { kind: 'done', statistics: await counting };
    },
    lookUp: ({ reference }, { signal }) => datasets.lookUp(reference, signal),
    fetch: ({ reference }, { signal }) => datasets.fetch(reference, signal),
    uploadBegin: async (input) => ({ upload: await datasets.uploadBegin(input) }),
    uploadChunk: async (input) => ({ received: await datasets.uploadChunk(input) }),
    uploadEnd: (input) => datasets.uploadEnd(input),
  };
}
