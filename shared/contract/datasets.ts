import { z } from 'zod';
import { call, stream } from '../rpc/verb';
import { Done, Empty, Id, Page } from './common';

/** Which column plays which part. */
export const Mapping = z.strictObject({
  prompt: z.string().optional(),
  /** Text that the prompt is about, written after it (Alpaca's input). */
  input: z.string().optional(),
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
  'sharegpt',
  'alpaca',
  'prompt-completion',
  'prompt-only',
  'preference',
  'unpaired-preference',
  'text',
  'unknown',
]);
export type DatasetType = z.infer<typeof DatasetType>;

export const Column = z.object({
  name: z.string(),
  type: z.enum(['string', 'number', 'boolean', 'array', 'object', 'mixed', 'null']),
  /** Share of rows that have a value, 0..1. */
  filled: z.number(),
  sample: z.string(),
  /** It holds chat messages, of these keys: role and content, or ShareGPT's from and value. */
  turns: z.enum(['role', 'from']).optional(),
  /** Every value says yes or no: true, false, 0 or 1, also as text. */
  rates: z.literal(true).optional(),
});

/** A row that cannot be read, by its line in the file or its number in the data set (1-based). */
export const RowProblem = z.object({ line: z.number().int(), message: z.string() });

export const DropReason = z.enum([
  'unreadable',
  'missing',
  'empty',
  'too-long',
  'duplicate',
  'same-answers',
  'other',
]);
export type DropReason = z.infer<typeof DropReason>;

/** Rows that are not used, of one reason, and the first of them. */
export const LeftOut = z.object({
  reason: DropReason,
  count: z.number().int(),
  line: z.number().int(),
  message: z.string(),
});
export type LeftOut = z.infer<typeof LeftOut>;

export const Dataset = z.object({
  id: Id,
  name: z.string(),
  source: z.enum(['bundled', 'added', 'uploaded', 'hub']),
  path: z.string(),
  /** Name of its kind of file; '' where that is not known. */
  format: z.string(),
  files: z.number().int(),
  /** Which of the splits at its path it is; null where there are none. */
  split: z.string().nullable(),
  /** Where on the Hub it is from: repo:config. */
  reference: z.string().nullable(),
  state: z.enum(['ready', 'offline', 'invalid']),
  reason: z.string().optional(),
  /** So far, while it is read. */
  rows: z.number().int(),
  /** Share that has been read, 0..1; null when all has been. Rows can be used meanwhile. */
  indexing: z.number().nullable(),
  bytes: z.number(),
  columns: z.array(Column),
  /** What kind of data its mapping makes of it. */
  type: DatasetType,
  /** Who plays which part: as a person chose, or our guess. */
  mapping: Mapping,
  mappedBy: z.enum(['guess', 'person']),
  /** Kinds of algorithm that the mapping is enough for. */
  fits: z.array(z.enum(['rollouts', 'examples', 'pairs', 'rated'])),
  problems: z.object({ count: z.number().int(), first: z.array(RowProblem) }),
  /** What a person should know of it. */
  notes: z.array(z.string()),
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
  /** Pieces of the rendered text, one a token. */
  pieces: z.array(z.string()),
  ids: z.instanceof(Int32Array),
  /** 1 where the token is trained on (SFT), or 0. */
  lossMask: z.instanceof(Uint8Array),
  truncated: z.boolean(),
  problem: z.string().optional(),
});

/** A data set on the Hub, and what fetching it would bring. */
export const HubListing = z.object({
  repo: z.string(),
  /** Commit that is read, so that all files are of one state. */
  commit: z.string(),
  configs: z.array(
    z.object({
      name: z.string(),
      splits: z.array(
        z.object({ name: z.string(), files: z.number().int(), bytes: z.number(), partial: z.boolean() }),
      ),
    }),
  ),
  freeBytes: z.number(),
});
export type HubListing = z.infer<typeof HubListing>;

const bytesDone = { done: z.number(), total: z.number() };
export const FetchItem = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('progress'), ...bytesDone }),
  z.object({ kind: z.literal('done'), datasets: z.array(Dataset) }),
]);
export type FetchItem = z.infer<typeof FetchItem>;

/** What an algorithm would make of the first rows. */
export const Statistics = z.object({
  /** Rows that were looked at, of all. */
  looked: z.number().int(),
  total: z.number().int(),
  used: z.number().int(),
  left: z.array(LeftOut),
  /** Tokens of the rows that are used, and of those that are too long. */
  lengths: z.object({
    mean: z.number(),
    longest: z.number().int(),
    /** Rows by length: bucket k holds [k * width, (k + 1) * width). */
    width: z.number().int(),
    counts: z.array(z.number().int()),
  }),
});
export type Statistics = z.infer<typeof Statistics>;
export const StatisticsItem = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('progress'), ...bytesDone }),
  z.object({ kind: z.literal('done'), statistics: Statistics }),
]);
export type StatisticsItem = z.infer<typeof StatisticsItem>;

export const datasets = {
  list: call(Empty, z.array(Dataset)),
  /** A file or a folder where it lies. Of a folder with splits each becomes a data set; answered is the first. */
  add: call(z.object({ path: z.string().min(1), name: z.string().max(120).optional() }), Dataset),
  /** What `repo[:config[:split]]` names on the Hub, without fetching it. */
  lookUp: call(z.object({ reference: z.string().min(1).max(300) }), HubListing),
  /** Fetches it and adds a data set for each split. Goes on where it was cancelled or broke off. */
  fetch: stream(z.object({ reference: z.string().min(1).max(300) }), FetchItem),
  remove: call(z.object({ id: Id }), Done),
  /** A person's choice of who plays which part, kept for the data set; null: our guess again. */
  setMapping: call(z.object({ id: Id, mapping: Mapping.nullable() }), Dataset),
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
  statistics: stream(
    z.object({
      id: Id,
      model: Id,
      mapping: Mapping,
      algorithm: z.string(),
      maxLength: z.number().int().positive().optional(),
      dropDuplicates: z.boolean().default(false),
    }),
    StatisticsItem,
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
