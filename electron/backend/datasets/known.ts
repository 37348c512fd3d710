import { dirname, join } from 'node:path';
import { z } from 'zod';
import { Id } from '../../../shared/contract/common';
import { AtelierError } from '../../../shared/rpc/errors';
import { readJson } from '../store';

/** A data set that a user has added, as the data folder's list keeps it. */
export const Entry = z.object({
  id: Id,
  name: z.string(),
  source: z.enum(['added', 'uploaded', 'hub']),
  path: z.string(),
  named: z.string().optional(),
  split: z.string().nullable().default(null),
  reference: z.string().nullable().default(null),
  /** The beginning of a split that is larger on the Hub. */
  partial: z.boolean().default(false),
  addedAt: z.number(),
});
export type Entry = z.infer<typeof Entry>;

/** resources/datasets/index.json: what comes with the app; `<id>.jsonl` lies beside it. */
const Bundled = z.object({
  id: Id,
  name: z.string(),
  description: z.string(),
  heldOut: Id.nullable(),
  suggestedReward: Id.nullable(),
});

export type Known = Omit<Entry, 'source'> & {
  source: Entry['source'] | 'bundled';
  bundled: z.infer<typeof Bundled> | null;
};

/** What a user has added, then what comes with the app from `folder`. */
export async function knownOf(entries: readonly Entry[], folder: string): Promise<Known[]> {
  const index = await readJson(join(folder, 'index.json')).catch(() => []);
  return [
    ...entries.map((entry) => ({ ...entry, bundled: null })),
    ...z
      .array(Bundled)
      .parse(index)
      .map((entry) => ({
        id: entry.id,
        name: entry.name,
        source: 'bundled' as const,
        path: join(folder, `${entry.id}.jsonl`),
        split: null,
        reference: null,
        partial: false,
        addedAt: 0,
        bundled: entry,
      })),
  ];
}

export function find(all: readonly Known[], id: string): Known {
  const known = all.find((entry) => entry.id === id);
  if (known) return known;
  throw new AtelierError('not_found', `There is no data set "${id}".`);
}

/** Each split from the Hub has a folder of its own. */
export const locationOf = ({
  id,
  path,
  named,
  split,
  source,
}: Pick<Known, 'id' | 'path' | 'named' | 'split' | 'source'>) => ({
  id,
  path,
  named,
  split: source === 'hub' ? null : split,
});

/** What was made to measure with: as the app's list says, or what lies beside a split to train on. */
export function heldOutOf(known: Known, all: readonly Known[]): string | null {
  if (known.bundled) return known.bundled.heldOut;
  if (known.split !== 'train') return null;
  const together = ({ source, path }: Known) => (source === 'hub' ? dirname(path) : path);
  const beside = (name: string) =>
    all.find((other) => together(other) === together(known) && other.split === name)?.id;
  return beside('test') ?? beside('validation') ?? null;
}
