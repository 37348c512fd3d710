import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { entryFile } from '../../supervise/entry-file';
import type { CodeMistake } from '../rewards';

/** A check that takes longer is given up: TypeScript itself may be led astray. */
const LIMIT = 60_000;
/** The compiler with what it has read is kept this long after a check: the next takes a tenth of the time. */
const KEPT = 120_000;

/** A packaged app has the algorithms to be read, but not what their types rest on. */
const NEEDED = [
  'shared/algorithms/algorithm.ts',
  'shared/program/index.ts',
  'node_modules/zod/package.json',
  'node_modules/typescript/lib/lib.es2023.d.ts',
];

/** Checks types of one algorithm after the other. */
export class TypeChecker {
  readonly #root: string;
  #worker: Worker | null = null;
  #last: Promise<unknown> = Promise.resolve();
  #idle: NodeJS.Timeout | undefined;

  constructor(root: string) {
    this.#root = root;
  }

  /** Mistakes of type, as if the file lay in shared/algorithms; null where the app has no sources to check against. */
  check(code: string): Promise<CodeMistake[] | null> {
    if (!NEEDED.every((path) => existsSync(join(this.#root, path)))) return Promise.resolve(null);
    const checked = this.#last.then(() => this.#check(code));
    this.#last = checked.catch(() => {});
    return checked;
  }

  async #check(code: string): Promise<CodeMistake[]> {
    clearTimeout(this.#idle);
    const worker = (this.#worker ??= this.#start());
    worker.ref();
    const over = new AbortController();
    const { signal } = over;
    worker.postMessage(code);
    try {
      const answer = await Promise.race([
        once(worker, 'message', { signal }).then(([mistakes]) => mistakes as CodeMistake[]),
        once(worker, 'exit', { signal }).then(() => 'could not be checked: the compiler ended early'),
        setTimeout(LIMIT, `were not checked within ${LIMIT / 1000} s`, { signal }),
      ]);
      if (typeof answer !== 'string') return answer;
      this.#end();
      return [{ line: 1, column: 1, message: `its types ${answer}` }];
    } finally {
      over.abort();
      worker.unref();
      this.#idle = globalThis.setTimeout(() => this.#end(), KEPT).unref();
    }
  }

  #start(): Worker {
    // a thread: the compiler takes seconds, and the backend has a run to serve
    const worker = new Worker(entryFile('backend/type-check'), {
      env: {},
      workerData: { root: this.#root },
      resourceLimits: { maxOldGenerationSizeMb: 1024 },
    });
    const gone = () => {
      if (this.#worker === worker) this.#worker = null;
    };
    return worker.on('error', gone).on('exit', gone);
  }

  #end(): void {
    void this.#worker?.terminate();
    this.#worker = null;
  }
}
