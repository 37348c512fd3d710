import {
  EngineError,
  type DeviceInfo,
  type EngineErrorCode,
  type GenerateProgress,
  type RankOptions,
} from '../face';
import { arrangeMeeting, checkDevices, memoryOfEach, unitName } from './meeting';
import type { RankVerb } from './process';
import { Rank } from './rank';

/** An engine that takes longer to let go, or to give up what another could not do, is ended. */
const PATIENCE_MS = 10_000;

const CLOSED = new EngineError('not_found', 'the engine is closed');

/** What happens to one device and not to another. */
const OF_ONE_DEVICE = new Set<EngineErrorCode>(['out_of_memory', 'internal']);

const unlike = ({ code, message, hint }: EngineError) =>
  new EngineError(
    code,
    `The devices are no longer alike, for one could not do what the others did: ${message}`,
    hint,
  );

/** The ranks of an engine: what they are asked, and the end of all where one has come to its end. */
export class RankGroup {
  readonly #ranks: Rank[] = [];
  #jobs = 0;
  /** Somebody has it: its end is told. */
  #open = false;
  #end: EngineError | null = null;
  /** Resolves when no process is left. */
  #gone: Promise<void> = Promise.resolve();

  private constructor(private readonly onEnd: RankOptions['onEnd']) {}

  /** @throws EngineError where a device is not there, or one of them does not start */
  static async start(
    { devices, spawn, onEnd, ...asked }: RankOptions,
    infos: readonly DeviceInfo[],
  ): Promise<RankGroup> {
    const info = checkDevices(asked.device, infos, devices);
    const options = { ...asked, ...memoryOfEach(asked, info, devices.length) };
    const group = new RankGroup(onEnd);
    const { backend, environments, over } = await arrangeMeeting(options.device, devices);
    try {
      for (const device of devices) {
        const process = await spawn();
        group.#ranks.push(new Rank(unitName(options.device, device), process, (how) => group.#lost(how)));
      }
      if (group.#end) throw group.#end;
      // the others wait for one that does not come
      await Promise.all(
        group.#ranks.map(async (rank, k) => {
          try {
            await rank.start({ options, backend, environment: environments[k]! });
          } catch (error) {
            throw group.#named(error as EngineError, rank);
          }
        }),
      );
      group.#open = true;
      return group;
    } catch (error) {
      group.#end ??= new EngineError('internal', 'The engine did not start.');
      await group.#killAll();
      throw error;
    } finally {
      over();
    }
  }

  get size(): number {
    return this.#ranks.length;
  }

  /** All ranks do the same and are alike afterwards. Their results; where one fails alone, that is the end of all. */
  async all(verb: RankVerb, args: unknown[], signal?: AbortSignal): Promise<unknown[]> {
    const settled = await this.#ask(
      verb,
      () => args,
      signal,
      undefined,
      (calls) => this.#follow(calls),
    );
    const errors = this.#errors(settled);
    const [error] = errors;
    if (!error) return this.#results(settled);
    if (errors.length < this.size) this.#finish(unlike(error));
    // what they meet through may be broken
    else if (error.code === 'internal' && this.size > 1) this.#finish(error);
    throw this.#end !== null && this.#end !== CLOSED ? this.#end : error;
  }

  /** Each rank has its own request, or none: null. Nothing changes by it. */
  async each(
    verb: RankVerb,
    args: (rank: number) => unknown[] | null,
    signal?: AbortSignal,
    onProgress?: (rank: number, p: GenerateProgress) => void,
  ): Promise<unknown[]> {
    return this.#results(await this.#ask(verb, args, signal, onProgress));
  }

  /** The first rank alone. */
  async first(verb: RankVerb, args: unknown[], signal?: AbortSignal): Promise<unknown> {
    const [result] = await this.each(verb, (rank) => (rank === 0 ? args : null), signal);
    return result;
  }

  async close(): Promise<void> {
    if (!this.#open) return this.#gone;
    this.#open = false;
    const closed = Promise.allSettled(this.#ranks.map((rank) => rank.call(++this.#jobs, 'close', [])));
    let late: NodeJS.Timeout | undefined;
    const patience = new Promise((resolve) => (late = setTimeout(resolve, PATIENCE_MS)));
    await Promise.race([closed, patience]);
    clearTimeout(late);
    this.#end ??= CLOSED;
    await this.#killAll();
  }

  /** Where one cannot do what all do together, the others may wait for it in the middle: not for ever. */
  #follow(calls: readonly Promise<unknown>[]): void {
    let left = calls.length;
    let patience: NodeJS.Timeout | undefined;
    const settled = () => {
      if (--left === 0) clearTimeout(patience);
    };
    calls.forEach((call, k) => {
      call.then(settled, (error: EngineError) => {
        settled();
        if (left > 0 && error.code !== 'cancelled')
          patience ??= setTimeout(
            () => this.#finish(unlike(this.#named(error, this.#ranks[k]!))),
            PATIENCE_MS,
          );
      });
    });
  }

  async #ask(
    verb: RankVerb,
    args: (rank: number) => unknown[] | null,
    signal?: AbortSignal,
    onProgress?: (rank: number, p: GenerateProgress) => void,
    asked?: (calls: readonly Promise<unknown>[]) => void,
  ): Promise<PromiseSettledResult<unknown>[]> {
    if (this.#end) throw this.#end;
    if (!this.#open) throw CLOSED;
    if (signal?.aborted) throw new EngineError('cancelled', 'cancelled before it began');
    const job = ++this.#jobs;
    const cancel = () => {
      for (const rank of this.#ranks) rank.cancel(job);
    };
    signal?.addEventListener('abort', cancel, { once: true });
    try {
      const calls = this.#ranks.map(async (rank, k) => {
        const own = args(k);
        if (own === null) return null;
        return rank.call(job, verb, own, onProgress && ((p) => onProgress(k, p)));
      });
      asked?.(calls);
      return await Promise.allSettled(calls);
    } finally {
      signal?.removeEventListener('abort', cancel);
    }
  }

  #results(settled: readonly PromiseSettledResult<unknown>[]): unknown[] {
    const [error] = this.#errors(settled);
    if (error) throw error;
    return settled.map((one) => (one as PromiseFulfilledResult<unknown>).value);
  }

  /** What ranks could not do, the reason first: one that gives up tells the others, which are cancelled. */
  #errors(settled: readonly PromiseSettledResult<unknown>[]): EngineError[] {
    const errors = settled.flatMap((one, k) =>
      one.status === 'rejected' ? [{ error: one.reason as EngineError, rank: this.#ranks[k]! }] : [],
    );
    errors.sort((a, b) => Number(a.error.code === 'cancelled') - Number(b.error.code === 'cancelled'));
    return errors.map(({ error, rank }) => this.#named(error, rank));
  }

  #named(error: EngineError, rank: Rank): EngineError {
    return OF_ONE_DEVICE.has(error.code) && error !== this.#end && this.size > 1
      ? new EngineError(error.code, `${rank.name}: ${error.message}`, error.hint)
      : error;
  }

  #lost(how: string): void {
    if (this.#end) return;
    this.#finish(new EngineError('internal', how, 'The engine starts again when it is needed.'));
  }

  #finish(error: EngineError): void {
    if (this.#end) return;
    this.#end = error;
    for (const rank of this.#ranks) rank.rejectAll(error);
    this.#gone = this.#killAll();
    if (this.#open) this.onEnd(error, this.#gone);
    this.#open = false;
  }

  async #killAll(): Promise<void> {
    await Promise.all(this.#ranks.map((rank) => rank.kill()));
  }
}
