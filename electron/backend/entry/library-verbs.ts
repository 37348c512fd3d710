import type { AtelierContract } from '../../../shared/contract';
import { AtelierError, type Handlers } from '../../../shared/rpc';
import type { Runs } from '../runs';
import type { Library } from './library';
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
    rows: (input) => datasets.rows(input),
    preview: async ({ model, ...input }) => datasets.preview(input, (await openModel(library, model)).text),
    uploadBegin: async (input) => ({ upload: await datasets.uploadBegin(input) }),
    uploadChunk: async (input) => ({ received: await datasets.uploadChunk(input) }),
    uploadEnd: (input) => datasets.uploadEnd(input),
  };
}
