import { EngineError, type Engine, type GenerateProgress, type RankPort } from '../face';
import type { FromRank, RankStart, RankVerb, ToRank } from './process';

/** Functions whose last argument is the hooks; they come with a signal. */
const HOOKED = new Set<RankVerb>(['generate', 'score', 'step', 'exportModel']);

type AnyVerb = (...args: unknown[]) => Promise<unknown>;

/** Answers for one device on a port, with the engine that `start` gives. */
export function serveRank(port: RankPort, start: (how: RankStart) => Promise<Engine>): void {
  const running = new Map<number, AbortController>();
  let engine: Engine | null = null;
  const say = (message: FromRank) => void port.post(message);

  async function answer(job: number, body: () => Promise<FromRank>): Promise<void> {
    try {
      say(await body());
    } catch (error) {
      const { code, message, hint } =
        error instanceof EngineError ? error : new EngineError('internal', (error as Error).message);
      say({ type: 'error', job, error: { code, message, hint } });
    }
  }

  async function call(message: Extract<ToRank, { type: 'call' }>): Promise<FromRank> {
    const { job, verb, args, progress } = message;
    const abort = new AbortController();
    running.set(job, abort);
    const hooks = {
      signal: abort.signal,
      ...(progress && { onProgress: (p: GenerateProgress) => say({ type: 'progress', job, progress: p }) }),
    };
    try {
      const of = engine![verb] as AnyVerb;
      return { type: 'done', job, result: await of(...args, ...(HOOKED.has(verb) ? [hooks] : [])) };
    } finally {
      running.delete(job);
    }
  }

  port.onMessage((heard) => {
    const message = heard as ToRank;
    switch (message.type) {
      case 'start':
        return void answer(0, async () => {
          engine = await start(message);
          return { type: 'started' };
        });
      case 'call':
        return void answer(message.job, () => call(message));
      case 'cancel':
        return running.get(message.job)?.abort();
    }
  });
}
