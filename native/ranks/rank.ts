import { EngineError, type GenerateProgress, type RankProcess } from '../face';
import type { FromRank, RankStart, RankVerb, ToRank } from './process';

interface Pending {
  resolve(result: unknown): void;
  reject(error: EngineError): void;
  onProgress?: ((p: GenerateProgress) => void) | undefined;
}

/** One rank's process, asked from outside. */
export class Rank {
  readonly #pending = new Map<number, Pending>();
  readonly #ended: Promise<void>;

  /**
   * @param name what people know it by: "GPU 1"
   * @param onEnd it ended by itself, with a sentence that says how
   */
  constructor(
    readonly name: string,
    private readonly process: RankProcess,
    onEnd: (how: string) => void,
  ) {
    process.port.onMessage((message) => this.#heard(message as FromRank));
    this.#ended = new Promise((resolve) => {
      process.onExit((code, signal, words) => {
        const last = words.trim();
        const how = `${name} ended (${signal ?? `code ${code}`}).`;
        onEnd(last === '' ? how : `${how} Its last words: ${last}`);
        resolve();
      });
    });
  }

  start(how: RankStart): Promise<unknown> {
    return this.#ask(0, { type: 'start', ...how });
  }

  call(
    job: number,
    verb: RankVerb,
    args: unknown[],
    onProgress?: (p: GenerateProgress) => void,
  ): Promise<unknown> {
    const message: ToRank = { type: 'call', job, verb, args, progress: onProgress !== undefined };
    return this.#ask(job, message, onProgress);
  }

  cancel(job: number): void {
    if (this.#pending.has(job)) this.#post({ type: 'cancel', job });
  }

  /** Whatever it was asked is answered with this. */
  rejectAll(error: EngineError): void {
    for (const { reject } of this.#pending.values()) reject(error);
    this.#pending.clear();
  }

  /** Resolves when the process is gone. */
  kill(): Promise<void> {
    this.process.kill('SIGKILL');
    return this.#ended;
  }

  #ask(job: number, message: ToRank, onProgress?: (p: GenerateProgress) => void): Promise<unknown> {
    return new Promise((resolve, reject) => {
      this.#pending.set(job, { resolve, reject, onProgress });
      this.#post(message);
    });
  }

  #post(message: ToRank): void {
    void this.process.port.post(message);
  }

  #heard(message: FromRank): void {
    if (message.type === 'started') return this.#take(0)?.resolve(undefined);
    if (message.type === 'progress') return this.#pending.get(message.job)?.onProgress?.(message.progress);
    if (message.type === 'done') return this.#take(message.job)?.resolve(message.result);
    const { code, message: text, hint } = message.error;
    return this.#take(message.job)?.reject(new EngineError(code, text, hint));
  }

  #take(job: number): Pending | undefined {
    const pending = this.#pending.get(job);
    this.#pending.delete(job);
    return pending;
  }
}
