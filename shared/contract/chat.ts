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
      typicalP: z.number().gt(0).max(1).default(1),
      epsilonCutoff: z.number().min(0).lt(1).default(0),
      /** Of tokens in the conversation so far. 1 is off. */
      repetitionPenalty: z.number().min(0.1).max(10).default(1),
      /** Of tokens in the answer: once, and for each time. 0 is off. */
      presencePenalty: z.number().min(-2).max(2).default(0),
      frequencyPenalty: z.number().min(-2).max(2).default(0),
      /** No sequence of so many tokens comes twice. 0 is off. */
      noRepeatNgram: z.number().int().min(0).max(64).default(0),
      minNewTokens: z.number().int().min(0).max(32_768).default(0),
      /** Added to logits, by token id. */
      logitBias: z.record(z.string().regex(/^\d{1,9}$/), z.number().min(-100).max(100)).default({}),
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
