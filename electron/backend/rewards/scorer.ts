import { AtelierError } from '../../../shared/rpc/errors';
import type { HostSpawn, Spawned } from '../../supervise/host-spawn';
import { compileReward } from './code';
import type { Scored, ScoreRequest } from './contract';
import {
  batchLimit,
  type Call,
  type HostMessage,
  type Inspection,
  type Job,
  type Mistake,
  type SampleDone,
  type Task,
} from './host/protocol';

/** Time to start a process and its sandbox on a busy machine. */
const startLimit = 30_000;

/** After so many calls that had to be killed the rest of a request is given up: each costs seconds. */
const maxBreaks = 8;

export interface ScorerOptions {
  /** Milliseconds that one call of the function may take. */
  limit?: number;
  /** A host that answers nothing for so long past a call's limit is killed. */
  patience?: number;
}

/** The language is this scorer's own; most code has no settings. */
export type ScriptRequest = Omit<ScoreRequest, 'language' | 'params'> & Partial<Pick<ScoreRequest, 'params'>>;

/** How a task ended when it did not come to its own end. */
interface Break {
  status: 'timeout' | 'killed';
  message: string;
}

interface Attempt {
  done: SampleDone[];
  /** The module was there: what stopped it was a call. */
  loaded: boolean;
  batch: boolean;
  mistake?: Mistake;
  params?: string;
  result?: string;
  broken: Break | null;
}

/**
 * Scores completions with users' code in the reward host, a process of its own. Whatever the code does, every
 * sample gets a status: what overruns or breaks its host is charged, the rest goes to a fresh one.
 */
export class RewardScorer {
  readonly #limit: number;
  readonly #patience: number;
  #host: Promise<Spawned> | null = null;
  #pid: number | null = null;
  #last: Promise<unknown> = Promise.resolve();
  #nextId = 1;
  /** Told of the host's end by the task that runs. */
  #exited: (how: string) => void = () => undefined;

  constructor(
    private readonly spawn: HostSpawn,
    { limit = 1000, patience = 10_000 }: ScorerOptions = {},
  ) {
    this.#limit = limit;
    this.#patience = patience;
  }

  /** Process id of the host, while there is one. */
  get pid(): number | null {
    return this.#pid;
  }

  /** One result a sample, in order. Throws `invalid_input` only where the code does not compile. */
  score(request: ScriptRequest, signal?: AbortSignal): Promise<Scored[]> {
    return this.#queued(() => this.#score(request, signal));
  }

  /** Evaluates the module: what is wrong with it, before any sample. */
  inspect(code: string): Promise<{ mistake?: Mistake; params?: string }> {
    return this.#queued(async () => {
      const task: Inspection = { kind: 'inspect', id: this.#nextId++, code, limit: this.#limit };
      const attempt = await this.#attempt(task);
      if (attempt.broken) return { mistake: { message: attempt.broken.message } };
      const { mistake, params } = attempt;
      return { ...(mistake && { mistake }), ...(params !== undefined && { params }) };
    });
  }

  /** A call of an algorithm's function, JSON in and out. */
  call(
    code: string,
    name: Call['name'],
    args: unknown,
    limit: number,
    signal?: AbortSignal,
  ): Promise<{ result: string } | { mistake: Mistake }> {
    return this.#queued(async () => {
      const task: Call = { kind: 'call', id: this.#nextId++, code, name, args: JSON.stringify(args), limit };
      let attempt = await this.#attempt(task, signal);
      // the host may have been killed from outside
      if (attempt.broken?.status === 'killed' && !attempt.loaded) attempt = await this.#attempt(task, signal);
      const { broken, mistake, result } = attempt;
      if (broken) return { mistake: { message: broken.message } };
      return mistake ? { mistake } : { result: result! };
    });
  }

  async close(): Promise<void> {
    const host = await this.#host?.catch(() => null);
    this.#forget();
    host?.kill('SIGKILL');
  }

  #queued<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#last.then(work);
    this.#last = result.catch(() => undefined);
    return result;
  }

  async #score(request: ScriptRequest, signal?: AbortSignal): Promise<Scored[]> {
    const code = await compileReward(request.code);
    const indices = request.indices ?? request.samples.map((_, index) => index);
    const scored: Scored[] = [];
    const breaks = request.breaks ?? { count: 0 };
    while (scored.length < request.samples.length) {
      signal?.throwIfAborted();
      const from = scored.length;
      const rest = request.samples.slice(from);
      if (breaks.count >= maxBreaks) {
        const error = `not tried: ${maxBreaks} calls before it had to be killed`;
        charge(scored, rest.length, { status: 'killed', error, milliseconds: 0 });
        break;
      }
      const job: Job = {
        kind: 'job',
        id: this.#nextId++,
        code,
        samples: JSON.stringify(rest),
        params: JSON.stringify(request.params ?? {}),
        count: rest.length,
        seed: request.seed | 0,
        step: request.step | 0,
        indices: indices.slice(from),
        limit: this.#limit,
      };
      const attempt = await this.#attempt(job, signal);
      scored.push(...attempt.done.map(result));
      if (!attempt.broken) {
        if (scored.length < request.samples.length) throw new Error('the reward host left samples out');
        break;
      }
      const { status, message } = attempt.broken;
      const left = rest.length - attempt.done.length;
      breaks.count++;
      // Before the module was there nobody is to blame the first time: the host may have been killed from outside.
      if (!attempt.loaded && breaks.count === 1) continue;
      // One call answers for one sample, so the one it stopped at is the culprit; a batch answers for all, and
      // a module that does not load answers for none.
      const charged = attempt.batch || !attempt.loaded ? left : 1;
      charge(scored, charged, { status, error: message, milliseconds: this.#limit });
    }
    return scored;
  }

  async #attempt(task: Task, signal?: AbortSignal): Promise<Attempt> {
    const host = await this.#ensure();
    return new Promise((resolve, reject) => {
      const attempt: Attempt = { done: [], loaded: false, batch: false, broken: null };
      let over = false;
      const end = (act: () => void) => {
        if (over) return;
        over = true;
        clearTimeout(timer);
        signal?.removeEventListener('abort', onAbort);
        act();
      };
      const broken = (status: Break['status'], message: string) =>
        end(() => resolve({ ...attempt, broken: { status, message } }));
      const kill = () => {
        this.#forget();
        host.kill('SIGKILL');
      };
      const onAbort = () =>
        end(() => {
          kill();
          reject(new AtelierError('cancelled', 'Scoring was cancelled.'));
        });
      let timer: NodeJS.Timeout;
      const watch = (limit: number) => {
        clearTimeout(timer);
        timer = setTimeout(() => {
          kill();
          broken('timeout', 'it did not finish in time, and its process had to be killed');
        }, limit + this.#patience);
      };
      signal?.addEventListener('abort', onAbort, { once: true });
      this.#exited = (how) => broken('killed', `its process ended (${how})`);
      host.port.onMessage((raw) => {
        const message = raw as HostMessage;
        if (over || message.kind === 'ready' || message.id !== task.id) return;
        if (message.kind === 'sample') {
          attempt.done.push(message);
          watch(task.limit);
        } else if (message.kind === 'started' || message.kind === 'loaded') {
          attempt.loaded = message.kind === 'loaded';
          watch(task.limit);
        } else if (message.kind === 'alive') {
          watch(task.limit);
        } else if (message.kind === 'batch') {
          attempt.batch = true;
          watch(batchLimit(task.limit, task.kind === 'job' ? task.count : 1));
        } else if (message.kind === 'stopped') {
          const status = message.reason === 'timeout' ? 'timeout' : 'killed';
          broken(
            status,
            message.reason === 'timeout' ? message.message : `it broke its sandbox: ${message.message}`,
          );
        } else if (message.kind === 'done') {
          if (message.mistake) attempt.mistake = message.mistake;
          if (message.params !== undefined) attempt.params = message.params;
          if (message.result !== undefined) attempt.result = message.result;
          end(() => resolve(attempt));
        }
      });
      watch(startLimit);
      void host.port.post(task);
    });
  }

  #ensure(): Promise<Spawned> {
    this.#host ??= this.#start();
    return this.#host;
  }

  async #start(): Promise<Spawned> {
    try {
      const host = await this.spawn('reward');
      this.#pid = host.pid;
      host.onExit((code, signal) => {
        this.#forget(host.pid);
        this.#exited(signal ?? `code ${code}`);
      });
      return host;
    } catch (error) {
      this.#forget();
      throw error;
    }
  }

  #forget(pid?: number): void {
    if (pid !== undefined && pid !== this.#pid) return;
    this.#host = null;
    this.#pid = null;
  }
}

function charge(scored: Scored[], count: number, why: Omit<Scored, 'reward'>): void {
  for (let done = 0; done < count; done++) scored.push({ reward: null, ...why });
}

function result({ status, value, mistake, milliseconds }: SampleDone): Scored {
  return {
    reward: status === 'ok' ? value : null,
    status,
    milliseconds,
    ...(mistake ? { error: words(mistake) } : {}),
  };
}

export function words({ message, line, column }: Mistake): string {
  if (line === undefined) return message;
  return `${message} (line ${line}${column === undefined ? '' : `, column ${column}`})`;
}
