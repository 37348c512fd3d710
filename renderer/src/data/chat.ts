import { useCallback, useEffect, useRef, useState } from 'react';
import type { Message } from '../../../shared/contract/common';
import { asFailure } from './failure';
import { useClient } from './context';

export interface Sampling {
  temperature: number;
  topP: number;
  topK: number;
  minP: number;
  repetitionPenalty: number;
  presencePenalty: number;
  frequencyPenalty: number;
  maxNewTokens: number;
  seed: number;
}

export interface Speaker {
  model: string;
  adapter: { run: string; checkpoint?: number } | null;
}

export interface Reply {
  text: string;
  state: 'waiting' | 'loading' | 'streaming' | 'done' | 'stopped' | 'failed';
  finish?: 'stop' | 'length' | 'cancelled';
  tokens?: number;
  tokensPerSecond?: number;
  error?: ReturnType<typeof asFailure>;
}

/** One exchange: what was asked, and one reply a column. */
export interface Turn {
  id: number;
  prompt: string;
  replies: Reply[];
}

/** A conversation held with several speakers at once: same words and seed to each, their own history. */
export function useConversation() {
  const client = useClient();
  const [turns, setTurns] = useState<Turn[]>([]);
  const [busy, setBusy] = useState(false);
  const control = useRef<AbortController | null>(null);
  useEffect(() => () => control.current?.abort(), []);

  const say = useCallback(
    async (prompt: string, system: string, speakers: Speaker[], sampling: Sampling) => {
      const abort = new AbortController();
      control.current = abort;
      setBusy(true);
      const id = Date.now();
      const past = turns;
      setTurns([...past, { id, prompt, replies: speakers.map(() => ({ text: '', state: 'waiting' })) }]);
      const update = (column: number, change: (reply: Reply) => Reply) =>
        setTurns((all) =>
          all.map((turn) =>
            turn.id === id
              ? { ...turn, replies: turn.replies.map((reply, at) => (at === column ? change(reply) : reply)) }
              : turn,
          ),
        );
      await Promise.all(
        speakers.map(async (speaker, column) => {
          const messages: Message[] = [
            ...(system.trim() === '' ? [] : [{ role: 'system' as const, content: system }]),
            ...past.flatMap((turn): Message[] => [
              { role: 'user', content: turn.prompt },
              { role: 'assistant', content: turn.replies[column]?.text ?? '' },
            ]),
            { role: 'user', content: prompt },
          ];
          try {
            for await (const item of client.chat.say(
              { ...speaker, ...sampling, messages },
              { signal: abort.signal },
            )) {
              if (item.kind === 'loading') update(column, (reply) => ({ ...reply, state: 'loading' }));
              else if (item.kind === 'text')
                update(column, (reply) => ({ ...reply, state: 'streaming', text: reply.text + item.text }));
              else
                update(column, (reply) => ({
                  ...reply,
                  state: 'done',
                  finish: item.finish,
                  tokens: item.tokens,
                  tokensPerSecond: item.tokensPerSecond,
                }));
            }
          } catch (error) {
            if (abort.signal.aborted) update(column, (reply) => ({ ...reply, state: 'stopped' }));
            else update(column, (reply) => ({ ...reply, state: 'failed', error: asFailure(error) }));
          }
        }),
      );
      setBusy(false);
    },
    [client, turns],
  );

  return {
    turns,
    busy,
    say,
    stop: () => control.current?.abort(),
    clear: () => {
      control.current?.abort();
      setTurns([]);
    },
  };
}
