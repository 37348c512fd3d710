import { z } from 'zod';
import { call, stream } from '../rpc/verb';
import { Done, Empty } from './common';

export const Check = z.object({
  id: z.string(),
  label: z.string(),
  state: z.enum(['ok', 'warning', 'failed']),
  detail: z.string(),
  fix: z.string().optional(),
});
export type Check = z.infer<typeof Check>;

export const SystemInfo = z.object({
  version: z.string(),
  commit: z.string(),
  host: z.enum(['desktop', 'web', 'cli']),
  platform: z.string(),
  mlx: z.string(),
  device: z.enum(['cpu', 'cuda', 'metal']),
  devices: z.array(
    z.object({
      device: z.enum(['cpu', 'cuda', 'metal']),
      available: z.boolean(),
      description: z.string(),
      memoryBytes: z.number(),
      /** Those of its kind that are there, by number. */
      units: z.array(z.object({ description: z.string(), memoryBytes: z.number() })),
    }),
  ),
  /** Of the devices that the engine works on together, their numbers; null: the first alone. */
  workingOn: z.array(z.number().int()).nullable(),
  folder: z.string(),
});
export type SystemInfo = z.infer<typeof SystemInfo>;

export const SystemStatus = z.object({
  engine: z.enum(['starting', 'ready', 'busy', 'failed']),
  engineMessage: z.string().optional(),
  memory: z.object({
    engineBytes: z.number(),
    peakBytes: z.number(),
    limitBytes: z.number(),
    freeBytes: z.number(),
    totalBytes: z.number(),
  }),
  diskFreeBytes: z.number(),
  activeRun: z
    .object({
      id: z.string(),
      name: z.string(),
      step: z.number(),
      steps: z.number(),
      status: z.string(),
      etaSeconds: z.number().nullable(),
    })
    .nullable(),
  queued: z.number().int(),
});
export type SystemStatus = z.infer<typeof SystemStatus>;

export const Settings = z.object({
  /** Engine memory limit in bytes; null: 75 % of the device's. */
  memoryLimitBytes: z.number().int().positive().nullable().default(null),
  /** Store token ids and logprobs of rollouts (needed for token colours). */
  storeTokens: z.boolean().default(true),
  keepCheckpoints: z.number().int().min(1).max(100).default(2),
  /** Numbers of the GPUs that work together; null: the first alone. */
  devices: z.array(z.number().int().min(0)).min(1).nullable().default(null),
});
export type Settings = z.infer<typeof Settings>;

export const system = {
  info: call(Empty, SystemInfo),
  /** Now, then on change, at most twice a second. */
  follow: stream(Empty, SystemStatus),
  checks: call(Empty, z.array(Check)),
  settings: call(Empty, Settings),
  saveSettings: call(Settings, Done),
  /** Text for a bug report: versions, checks, settings, last log lines; paths under home shortened. */
  diagnostics: call(Empty, z.object({ text: z.string() })),
};
