import { z } from 'zod';
import { call } from '../rpc/verb';
import { Done, Empty, Id, Page } from './common';

/** Which column plays which part. */
export const Mapping = z.strictObject({
  prompt: z.string().optional(),
  completion: z.string().optional(),
  /** The better and the worse answer of a pair. */
  chosen: z.string().optional(),
  rejected: z.string().optional(),
  /** Whether the completion is good. */
  label: z.string().optional(),
  answer: z.string().optional(),
  messages: z.string().optional(),
  system: z.string().optional(),
});
export type Mapping = z.infer<typeof Mapping>;

export const DatasetType = z.enum([
  'messages',
  'prompt-completion',
  'prompt-only',
  'preference',
  'unpaired-preference',
  'text',
  'unknown',
]);

export const Column = z.object({
  name: z.string(),
  type: z.enum(['string', 'number', 'boolean', 'array', 'object', 'mixed', 'null']),
  /** Share of rows that have a value, 0..1. */
  filled: z.number(),
  sample: z.string(),
});

/** A row that cannot be used, by its line in the file (1-based). */
export const RowProblem = z.object({ line: z.number().int(), message: z.string() });

export const Dataset = z.object({
  id: Id,
  name: z.string(),
  source: z.enum(['bundled', 'added', 'uploaded']),
  path: z.string(),
  state: z.enum(['ready', 'offline', 'invalid']),
  reason: z.string().optional(),
  rows: z.number().int(),
  bytes: z.number(),
  columns: z.array(Column),
  type: DatasetType,
  /** Our guess of who plays which part. */
  suggestedMapping: Mapping,
  problems: z.object({ count: z.number().int(), first: z.array(RowProblem) }),
  description: z.string().optional(),
  /** Rows of it that are never trained on, where the data set says so itself. */
  heldOut: Id.nullable(),
  /** Reward made for it, by id, where there is one. */
  suggestedReward: Id.nullable(),
  addedAt: z.number(),
});
export type Dataset = z.infer<typeof Dataset>;

export const PreviewRow = z.object({
  line: z.number().int(),
  /** Which answer of the row this is, where it has two or is rated. */
  part: z.enum(['better', 'worse', 'good', 'bad']).optional(),
  text: z.string(),
  /** Pieces of the rendered text, one a token. */
  pieces: z.array(z.string()),
  ids: z.instanceof(Int32Array),
  /** 1 where the token is trained on (SFT), or 0. */
  lossMask: z.instanceof(Uint8Array),
  truncated: z.boolean(),
  problem: z.string().optional(),
});

export const datasets = {
  list: call(Empty, z.array(Dataset)),
  add: call(z.object({ path: z.string().min(1), name: z.string().max(120).optional() }), Dataset),
  remove: call(z.object({ id: Id }), Done),
  rows: call(
    z.object({ id: Id, ...Page }),
    z.object({
      total: z.number().int(),
      rows: z.array(z.object({ line: z.number().int(), row: z.record(z.string(), z.unknown()) })),
    }),
  ),
  /** Rows as the model sees them: template applied, tokenised, loss mask. */
  preview: call(
    z.object({
      id: Id,
      model: Id,
      mapping: Mapping,
      algorithm: z.string(),
      maxLength: z.number().int().positive().optional(),
      ...Page,
    }),
    z.object({ total: z.number().int(), rows: z.array(PreviewRow) }),
  ),
  /** A file from the page, in chunks of at most 512 KiB in order; end() checks and adds it. */
  uploadBegin: call(
    z.object({ name: z.string().min(1).max(200), bytes: z.number().int().positive() }),
    z.object({ upload: Id }),
  ),
  uploadChunk: call(
    z.object({ upload: Id, offset: z.number().int().min(0), data: z.instanceof(Uint8Array) }),
    z.object({ received: z.number().int() }),
  ),
  uploadEnd: call(z.object({ upload: Id }), Dataset),
};
