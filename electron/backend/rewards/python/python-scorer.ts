import type { PythonState } from '../../../../shared/contract/rewards';
import { AtelierError } from '../../../../shared/rpc/errors';
import { codeHash, type CodeMistake } from '../code';
import type { Scored, ScoreRequest } from '../contract';
import { batchLimit } from '../host/protocol';
import { words } from '../scorer';
import { findPython, type Python } from './find-python';
import { PythonProcess, type PythonMessage } from './python-process';

/** To start an interpreter on a busy machine. */
const START_LIMIT = 60_000;
/** To load the code: large libraries take their time. */
const LOAD_LIMIT = 120_000;
/** After so many calls that had to be killed the rest of a request is given up: each costs seconds. */
const MAX_BREAKS = 8;
/** Interpreters that are kept, each with its reward. */
const KEPT = 4;
/** All that a reward must not have, as the host script's trials name it. */
const CONFINED = ['network', 'files', 'writing', 'processes'];

interface Loaded {
  process: PythonProcess;
  batch: boolean;
}

export interface PythonOptions {
  /** resources/python/reward_host.py */
  host: string;
  /** Milliseconds that one call of the function may take. */
  limit?: number;
  find?: () => Promise<Python | null>;
  /** Whether code may run where it is not confined. */
  trusted: (hash: string) => boolean;
}

/** Scores completions with users' Python, in a process for each reward. */
export class PythonScorer {
  readonly #limit: number;
  readonly #processes = new Map<string, Loaded>();
  #state: Promise<PythonState> | null = null;
  #last: Promise<unknown> = Promise.resolve();

  constructor(private readonly options: PythonOptions) {
    this.#limit = options.limit ?? 10_000;
  }

  /** The Python that was found, and what a trial showed that rewards cannot reach in it. */
  state(): Promise<PythonState> {
    this.#state ??= this.#look().then((state) => {
      // one that is installed meanwhile is found without a restart
      if (state.python === null) this.#state = null;
      return state;
    });
    return this.#state;
  }

  async #look(): Promise<PythonState> {
    const python = await (this.options.find ?? findPython)();
    if (!python) return { python: null, confined: false, closed: [], reasons: [] };
    const child = await PythonProcess.start(python.path, this.options.host);
    try {
      const { closed, reasons } = await answer(child, 'ready', START_LIMIT);
      return { python, confined: CONFINED.every((name) => closed.includes(name)), closed, reasons };
    } finally {
      child.kill();
    }
  }

  /** What is wrong with the code; loading it runs it. @throws AtelierError where it must not run */
  async inspect(code: string): Promise<{ mistakes: CodeMistake[]; batch: boolean }> {
    const found = await this.#queued(() => this.#load(code));
    if ('process' in found) return { mistakes: [], batch: found.batch };
    return { mistakes: [found], batch: false };
  }

  /** One result a sample, in order. */
  score(request: Omit<ScoreRequest, 'language' | 'params'>, signal?: AbortSignal): Promise<Scored[]> {
    return this.#queued(() => this.#score(request, signal));
  }

  async close(): Promise<void> {
    for (const { process } of this.#processes.values()) process.kill();
    this.#processes.clear();
  }

  #queued<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#last.then(work);
    this.#last = result.catch(() => undefined);
    return result;
  }

  async #load(code: string): Promise<Loaded | CodeMistake> {
    const hash = codeHash(code);
    const known = this.#processes.get(hash);
    if (known?.process.alive) return known;
    const { python, confined, reasons } = await this.state();
    if (!python) throw noPython();
    if (!confined && !this.options.trusted(hash)) throw notConfined(reasons);
    const process = await PythonProcess.start(python.path, this.options.host);
    try {
      const ready = await answer(process, 'ready', START_LIMIT);
      if (confined && !CONFINED.every((name) => ready.closed.includes(name)))
        throw notConfined(ready.reasons);
      process.send({ kind: 'load', code });
      const { message, line, batch = false } = await answer(process, 'loaded', LOAD_LIMIT);
      if (message !== undefined) {
        process.kill();
        return { line: line ?? 1, column: 1, message };
      }
      const loaded = { process, batch };
      this.#keep(hash, loaded);
      return loaded;
    } catch (error) {
      process.kill();
      if (error instanceof Broken) return { line: 1, column: 1, message: error.message };
      throw error;
    }
  }

  #keep(hash: string, loaded: Loaded): void {
    this.#processes.delete(hash);
    for (const [oldest, { process }] of this.#processes) {
      if (this.#processes.size < KEPT) break;
      process.kill();
      this.#processes.delete(oldest);
    }
    this.#processes.set(hash, loaded);
  }

  async #score(request: Omit<ScoreRequest, 'language' | 'params'>, signal?: AbortSignal): Promise<Scored[]> {
    const { code, samples } = request;
    const indices = request.indices ?? samples.map((_, index) => index);
    const scored: Scored[] = [];
    const breaks = request.breaks ?? { count: 0 };
    while (scored.length < samples.length) {
      if (signal?.aborted) throw cancelled();
      const from = scored.length;
      const left = samples.length - from;
      if (breaks.count >= MAX_BREAKS) {
        const error = `not tried: ${MAX_BREAKS} calls before it had to be killed`;
        charge(scored, left, { status: 'killed', error, milliseconds: 0 });
        break;
      }
      const found = await this.#load(code);
      if (signal?.aborted) throw cancelled();
      if (!('process' in found)) {
        charge(scored, left, { status: 'error', error: words(found), milliseconds: 0 });
        break;
      }
      const broken = await this.#attempt(found, request, from, indices, scored, signal);
      if (!broken) break;
      breaks.count++;
      // one call answers for one sample; a batch function's answers for all
      const rest = samples.length - scored.length;
      charge(scored, found.batch ? rest : Math.min(1, rest), { ...broken, milliseconds: this.#limit });
    }
    return scored;
  }

  /** Adds the results from `from` on. What stopped it before the end, or null. */
  #attempt(
    { process, batch }: Loaded,
    { samples, seed, step }: Omit<ScoreRequest, 'language' | 'params'>,
    from: number,
    indices: readonly number[],
    scored: Scored[],
    signal: AbortSignal | undefined,
  ): Promise<{ status: 'timeout' | 'killed'; error: string } | null> {
    return new Promise((resolve, reject) => {
      let timer: NodeJS.Timeout;
      const end = (act: () => void) => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', onAbort);
        process.listen(
          () => undefined,
          () => undefined,
        );
        act();
      };
      const onAbort = () => {
        end(() => reject(cancelled()));
        process.kill();
      };
      const limit = batch ? batchLimit(this.#limit, samples.length - from) : this.#limit;
      const watch = () => {
        clearTimeout(timer);
        timer = setTimeout(() => {
          end(() => resolve({ status: 'timeout', error: `it did not finish within ${limit / 1000} s` }));
          process.kill();
        }, limit);
      };
      signal?.addEventListener('abort', onAbort, { once: true });
      process.listen(
        (message) => {
          if (message.kind === 'sample' && scored.length < samples.length) {
            scored.push(result(message));
            watch();
          } else if (message.kind === 'done' && scored.length === samples.length) end(() => resolve(null));
          else process.kill('it broke the protocol');
        },
        (how) => end(() => resolve({ status: 'killed', error: `its process ended (${how})` })),
      );
      if (!process.alive) return;
      watch();
      process.send({
        kind: 'score',
        samples: samples.slice(from),
        seed,
        step,
        indices: indices.slice(from),
      });
    });
  }
}

/** The process ended, or said nothing for too long. */
class Broken extends Error {}

function answer<K extends PythonMessage['kind']>(
  child: PythonProcess,
  kind: K,
  limit: number,
): Promise<Extract<PythonMessage, { kind: K }>> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Broken(`it did not finish within ${limit / 1000} s`)), limit);
    child.listen(
      (message) => {
        clearTimeout(timer);
        if (message.kind === kind) resolve(message as Extract<PythonMessage, { kind: K }>);
        else reject(new Broken('it broke the protocol'));
      },
      (how) => {
        clearTimeout(timer);
        reject(new Broken(`its process ended (${how})`));
      },
    );
  });
}

function charge(scored: Scored[], count: number, why: Omit<Scored, 'reward'>): void {
  for (let done = 0; done < count; done++) scored.push({ reward: null, ...why });
}

function result({
  status,
  value,
  message,
  line,
  milliseconds,
}: Extract<PythonMessage, { kind: 'sample' }>): Scored {
  // not to be believed: the code can write frames itself
  const number = status === 'ok' && value !== undefined && Number.isFinite(value) ? value : null;
  if (status === 'ok' && number === null) return { reward: null, status: 'nonfinite', milliseconds };
  const error = message === undefined ? undefined : words({ message, ...(line ? { line } : {}) });
  return { reward: number, status, milliseconds, ...(error === undefined ? {} : { error }) };
}

const cancelled = () => new AtelierError('cancelled', 'Scoring was cancelled.');

const noPython = () =>
  new AtelierError(
    'unsupported',
    'No Python 3.9 or newer was found, which this reward is written in.',
    'Install Python 3, or name one in the environment variable ATELIER_PYTHON, and try again.',
  );

const notConfined = (reasons: string[]) =>
  new AtelierError(
    'forbidden',
    `Python cannot be confined on this machine: it could read your files and use the network (${reasons.join('; ') || 'no reason known'}).`,
    'If you wrote or know this code, allow it in the reward editor or with "npm run atelier -- rewards allow REWARD"; or write the reward in TypeScript.',
  );
