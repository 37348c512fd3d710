import { z } from 'zod';
import { stream } from '../rpc/verb';
import { Id, Message } from './common';

export const AdapterRef = z.object({ run: Id, checkpoint: z.number().int().optional() });

export const chat = {
  /** One answer, streamed. Columns of a comparison are separate calls with the same seed. */
  say: stream(
    z.object({
      model: Id,
      adapter: AdapterRef.nullable(),
      messages: z.array(Message).min(1).max(400),
      temperature: z.number().min(0).max(4).default(0.7),
      topP: z.number().gt(0).max(1).default(1),
      topK: z.number().int().min(0).default(0),
      minP: z.number().min(0).max(1).default(0),
      maxNewTokens: z.number().int().min(1).max(32_768).default(512),
      seed: z.number().int().min(0).default(0),
    }),
    z.discriminatedUnion('kind', [
      z.object({ kind: z.literal('loading') }),
      z.object({ kind: z.literal('text'), text: z.string() }),
      z.object({
        kind: z.literal('done'),
        finish: z.enum(['stop', 'length', 'cancelled']),
        tokens: z.number().int(),
        promptTokens: z.number().int(),
        tokensPerSecond: z.number(),
      }),
    ]),
  ),
};
