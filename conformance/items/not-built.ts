import type { Item } from './item';

/** Files that a later issue reads, with its number and what it builds. */
const LATER: [RegExp, string][] = [];

const what = (path: string) => LATER.find(([pattern]) => pattern.test(path))?.[1];

export const notBuilt: Item = {
  name: 'not built',
  owns: (path) => what(path) !== undefined,
  run: async (_, paths) =>
    paths.map((path) => ({ path, status: 'not built' as const, detail: `${what(path)}: issue 2` })),
};
