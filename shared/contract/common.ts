import { z } from 'zod';

/** Ids are made by us and match this before they touch a path. */
export const Id = z
  .string()
  .regex(/^[a-z0-9][a-z0-9_-]{0,63}$/, 'must be an id: small letters, digits, - and _, at most 64');

/** Content is a string, or parts (text now; images and audio come). */
export const ContentPart = z.object({ type: z.literal('text'), text: z.string() });
export const Message = z.object({
  role: z.enum(['system', 'user', 'assistant', 'tool']),
  content: z.union([z.string(), z.array(ContentPart)]),
});
export type Message = z.infer<typeof Message>;

export const Empty = z.object({}).strict();
export const Done = z.object({}).strict();

/** A problem found before work starts. `path` is the field's path in the request, "params.groupSize". */
export const Problem = z.object({
  level: z.enum(['error', 'warning']),
  path: z.string(),
  message: z.string(),
  hint: z.string().optional(),
});
export type Problem = z.infer<typeof Problem>;

export const Page = {
  offset: z.number().int().min(0).default(0),
  limit: z.number().int().min(1).max(200).default(50),
};
