import { z } from 'zod';
import { call } from '../rpc/verb';
import { Done, Empty, Id } from './common';

export const Model = z.object({
  id: Id,
  name: z.string(),
  /** Where it came from: shipped with the app, or added by the user. */
  source: z.enum(['bundled', 'added']),
  format: z.enum(['safetensors', 'gguf']),
  path: z.string(),
  /** 'offline': the path cannot be reached now; 'unsupported': `reason` says which feature. */
  state: z.enum(['ready', 'offline', 'unsupported']),
  reason: z.string().optional(),
  family: z.string().nullable(),
  parameters: z.number().nullable(),
  /** Bytes of the weights on disk. */
  bytes: z.number().nullable(),
  contextLength: z.number().nullable(),
  vocabularySize: z.number().nullable(),
  hiddenSize: z.number().nullable(),
  layers: z.number().nullable(),
  hasChatTemplate: z.boolean(),
  /** A reward model: it scores texts and cannot write them. */
  scalarHead: z.boolean(),
  /** What its files hold beside the model that is run, e.g. a vision tower. */
  leftOut: z.array(z.string()).optional(),
  description: z.string().optional(),
  addedAt: z.number(),
});
export type Model = z.infer<typeof Model>;

/** A checkpoint of a run, which can be chatted with and exported. */
export const Adapter = z.object({
  run: Id,
  runName: z.string(),
  checkpoint: z.number().int(),
  model: Id,
  /** A reward model's: with it the model scores texts. */
  scalarHead: z.boolean(),
  step: z.number().int(),
  reward: z.number().nullable(),
  bytes: z.number(),
  /** What it holds: an adapter beside its base, or all parameters. */
  holds: z.enum(['adapter', 'model']),
  createdAt: z.number(),
});
export type Adapter = z.infer<typeof Adapter>;

export const BrowseEntry = z.object({
  name: z.string(),
  path: z.string(),
  kind: z.enum(['folder', 'file']),
  bytes: z.number().nullable(),
  /** What the entry is, where it can be told: a model folder, a GGUF file, a JSONL data set. */
  looksLike: z.enum(['model', 'gguf', 'dataset']).nullable(),
});

export const models = {
  list: call(Empty, z.array(Model)),
  /** A model folder or a .gguf file; on the web host only under the roots given with --models. */
  add: call(z.object({ path: z.string().min(1), name: z.string().max(120).optional() }), Model),
  /** Forgets the model; its files stay. Refused while a run uses it. */
  remove: call(z.object({ id: Id }), Done),
  adapters: call(z.object({ model: Id.optional() }), z.array(Adapter)),
  /** Folders that may be browsed on the web host; empty on the desktop, whose dialog is used. */
  roots: call(Empty, z.array(z.string())),
  browse: call(
    z.object({ path: z.string() }),
    z.object({ path: z.string(), parent: z.string().nullable(), entries: z.array(BrowseEntry) }),
  ),
};
