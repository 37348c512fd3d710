import { contract, type AtelierContract } from '../../../shared/contract';
import { createClient, AtelierError, type Client, type Port } from '../../../shared/rpc';

export type AtelierClient = Client<AtelierContract>;

export type ConnectionState =
  | { phase: 'connecting' }
  | { phase: 'open' }
  /** Lost; the next attempt is at `retryAt` (ms since 1970). */
  | { phase: 'lost'; attempt: number; retryAt: number }
  /** Not allowed in: no attempt follows. */
  | { phase: 'refused'; error: AtelierError };

const backOff = [250, 500, 1000, 2000, 4000, 8000];
/** How long a request waits for a connection before it fails. */
const PATIENCE_MS = 20_000;

/** One connection to the backend that comes back by itself. `client` may be used at any time. */
export class Connection {
  readonly client: AtelierClient;
  #open: (signal: AbortSignal) => Promise<Port>;
  #state: ConnectionState = { phase: 'connecting' };
  #inner: AtelierClient | null = null;
  #listeners = new Set<() => void>();
  #waiting = new Set<{ resolve: (client: AtelierClient) => void; reject: (error: AtelierError) => void }>();
  #attempt = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #life = new AbortController();

  constructor(open: (signal: AbortSignal) => Promise<Port>) {
    this.#open = open;
    this.client = facade(this);
    void this.#connect();
  }

  readonly subscribe = (listener: () => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };
  readonly state = () => this.#state;

  /** The live client, once there is one. */
  ready(signal?: AbortSignal): Promise<AtelierClient> {
    if (this.#inner !== null) return Promise.resolve(this.#inner);
    if (this.#state.phase === 'refused') return Promise.reject(this.#state.error);
    return new Promise((resolve, reject) => {
      const entry = {
        resolve: (client: AtelierClient) => finish(() => resolve(client)),
        reject: (error: AtelierError) => finish(() => reject(error)),
      };
      const abort = () => entry.reject(new AtelierError('cancelled', 'Cancelled.'));
      const timer = setTimeout(
        () =>
          entry.reject(
            new AtelierError(
              'unavailable',
              'The backend cannot be reached.',
              'Check that Atelier is still running.',
            ),
          ),
        PATIENCE_MS,
      );
      const finish = (settle: () => void) => {
        this.#waiting.delete(entry);
        clearTimeout(timer);
        signal?.removeEventListener('abort', abort);
        settle();
      };
      this.#waiting.add(entry);
      signal?.addEventListener('abort', abort, { once: true });
    });
  }

  /** Tries now instead of after the pause. */
  retry(): void {
    if (this.#state.phase === 'open' || this.#state.phase === 'connecting') return;
    clearTimeout(this.#timer);
    this.#attempt = 0;
    void this.#connect();
  }

  close(): void {
    this.#life.abort();
    clearTimeout(this.#timer);
  }

  async #connect(): Promise<void> {
    this.#set({ phase: 'connecting' });
    try {
      const port = await this.#open(this.#life.signal);
      if (this.#life.signal.aborted) return port.close();
      this.#inner = createClient(contract, port);
      this.#attempt = 0;
      port.onClose(() => {
        this.#inner = null;
        this.#later();
      });
      this.#set({ phase: 'open' });
      for (const entry of this.#waiting) entry.resolve(this.#inner);
    } catch (error) {
      if (error instanceof AtelierError && error.code === 'forbidden') {
        this.#set({ phase: 'refused', error });
        for (const entry of this.#waiting) entry.reject(error);
      } else this.#later();
    }
  }

  #later(): void {
    if (this.#life.signal.aborted) return;
    const pause = backOff[Math.min(this.#attempt, backOff.length - 1)]!;
    this.#attempt += 1;
    this.#set({ phase: 'lost', attempt: this.#attempt, retryAt: Date.now() + pause });
    this.#timer = setTimeout(() => void this.#connect(), pause);
  }

  #set(state: ConnectionState): void {
    this.#state = state;
    for (const listener of this.#listeners) listener();
  }
}

type Verbs = Record<string, Record<string, (input: unknown, options?: { signal?: AbortSignal }) => unknown>>;

/** The same verbs, each waiting for the connection first. */
function facade(connection: Connection): AtelierClient {
  const client: Verbs = {};
  for (const [domain, verbs] of Object.entries(contract)) {
    const group: Verbs[string] = (client[domain] = {});
    for (const [name, verb] of Object.entries(verbs)) {
      group[name] =
        verb.kind === 'call'
          ? async (input, options) =>
              ((await connection.ready(options?.signal)) as unknown as Verbs)[domain]![name]!(input, options)
          : async function* (input, options) {
              const inner = (await connection.ready(options?.signal)) as unknown as Verbs;
              yield* inner[domain]![name]!(input, options) as AsyncIterable<unknown>;
            };
    }
  }
  return client as unknown as AtelierClient;
}
