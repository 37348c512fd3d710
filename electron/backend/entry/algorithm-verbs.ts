import type { AtelierContract } from '../../../shared/contract';
import type { Handlers } from '../../../shared/rpc';
import { builtinSource } from '../algorithms';
import type { Library } from './library';

/** The verbs of `algorithms`. */
export function algorithmVerbs({ algorithms }: Library): Handlers<AtelierContract>['algorithms'] {
  return {
    list: () => algorithms.list(),
    source: async ({ key }) => ({ code: await builtinSource(algorithms.root, key) }),
    save: async (input) => algorithms.withInfo(await algorithms.store.save(input)),
    async remove({ key }) {
      await algorithms.store.remove(key);
      return {};
    },
    check: ({ code }) => algorithms.check(code),
  };
}
