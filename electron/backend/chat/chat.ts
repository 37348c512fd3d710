import type { z } from 'zod';
import type { AtelierContract } from '../../../shared/contract';
import type { AdapterRef } from '../../../shared/contract/chat';
import { AtelierError, type Handlers } from '../../../shared/rpc';
import type { EngineHost, Taught } from '../system';
import type { ModelText } from '../text';
import { TokenQueue } from './token-queue';

type Adapter = z.infer<typeof AdapterRef>;

export interface ChatModel {
  id: string;
  name: string;
  path: string;
  /** Bytes of the weights in memory. */
  bytes: number;
  contextLength: number;
  scalarHead: boolean;
  text: Pick<ModelText, 'prompt' | 'detokenizer' | 'stopIds'>;
}

export interface ChatOptions {
  engineHost: EngineHost;
  model(id: string): Promise<ChatModel>;
  /** @throws AtelierError where model and run together do not write texts */
  requireWriter(model: ChatModel, adapter: Adapter | null): void;
  /** What a run's checkpoint holds, the newest where none is named. */
  taught(adapter: Adapter): Promise<Taught>;
}

/** The verbs of `chat`. A cancelled call ends its generation. */
export function chatVerbs({
  engineHost,
  model: find,
  requireWriter,
  taught,
}: ChatOptions): Handlers<AtelierContract>['chat'] {
  return {
    async *say({ model: id, adapter, messages, maxNewTokens, ...sampling }, { signal }) {
      yield { kind: 'loading' };
      const model = await find(id);
      requireWriter(model, adapter);
      const lease = await engineHost.weights(model, adapter && (await taught(adapter)));
      try {
        const engine = await engineHost.engine();
        const prompt = await model.text.prompt(messages);
        const room = model.contextLength - prompt.ids.length;
        if (room < 1) {
          throw new AtelierError(
            'invalid_input',
            `The conversation has ${prompt.ids.length} tokens; ${model.name} reads at most ${model.contextLength}.`,
            'Start a new one, or shorten it.',
            { path: 'messages' },
          );
        }
        const tokens = new TokenQueue();
        const generation = engine
          .generate(
            {
              model: lease.model.id,
              adapter: lease.adapter,
              prompts: [prompt.ids],
              samplesPerPrompt: 1,
              maxNewTokens: Math.min(maxNewTokens, room),
              stopIds: model.text.stopIds,
              ...sampling,
            },
            { signal, onProgress: ({ id }) => tokens.push(id) },
          )
          .finally(() => tokens.end());
        // its failure is met below, after what was said until then
        generation.catch(() => undefined);
        const detokenizer = model.text.detokenizer();
        const stops = new Set(model.text.stopIds);
        for await (const ids of tokens) {
          // who has left does not read what was made meanwhile
          if (signal?.aborted) break;
          let text = '';
          for (const id of ids) if (!stops.has(id)) text += await detokenizer.push(id);
          if (text !== '') yield { kind: 'text', text };
        }
        const { rows, seconds, tokens: count } = await generation;
        const rest = await detokenizer.finish();
        if (rest !== '' && !signal?.aborted) yield { kind: 'text', text: rest };
        yield {
          kind: 'done',
          finish: rows[0]!.finish,
          tokens: count,
          promptTokens: prompt.ids.length,
          tokensPerSecond: seconds > 0 ? count / seconds : 0,
        };
      } finally {
        lease.release();
      }
    },
  };
}
