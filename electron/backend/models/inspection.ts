import { z } from 'zod';

/** What a model's files tell without its weights being loaded. */
export const Inspection = z.object({
  /** Why the engine does not run it; null where it does. */
  unsupported: z.string().nullable(),
  family: z.string().nullable(),
  parameters: z.number().nullable(),
  bytes: z.number().nullable(),
  contextLength: z.number().nullable(),
  vocabularySize: z.number().nullable(),
  hiddenSize: z.number().nullable(),
  layers: z.number().nullable(),
  hasChatTemplate: z.boolean(),
  /** sha-256 over configuration and tensor list: which model this is, quickly. */
  fingerprint: z.string(),
});
export type Inspection = z.infer<typeof Inspection>;

export function whole(value: unknown): number | null {
  return typeof value === 'number' && Number.isInteger(value) && value > 0 ? value : null;
}

export function elements(shape: readonly number[]): number {
  return shape.reduce((product, size) => product * size, 1);
}
