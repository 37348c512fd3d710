import { Worker } from 'node:worker_threads';
import { AtelierError } from '../../../../shared/rpc/errors';
import { entryFile } from '../../../supervise/entry-file';

export interface RenderTask {
  source: string;
  context: Record<string, unknown>;
  /** Milliseconds since 1970 that the template's clock shows; default: now. */
  now?: number;
  maxOutput: number;
}
export type RenderAnswer = { text: string } | { error: string };

export interface RenderBudget {
  /** A render that takes longer is killed. */
  milliseconds: number;
  maxOutput: number;
}

/** safety.md §4: templates come with models and are hostile until rendered. */
export const defaultBudget: RenderBudget = { milliseconds: 2000, maxOutput: 4 << 20 };
export const maxTemplateBytes = 256 << 10;

/** Renders one at a time on a worker thread that is killed and replaced when a template overruns. */
export class Renderer {
  #worker: Worker | null = null;
  #last: Promise<unknown> = Promise.resolve();

  constructor(private readonly budget: RenderBudget = defaultBudget) {}

  render(source: string, context: Record<string, unknown>, now?: number): Promise<string> {
    const result = this.#last.then(() => this.#one(source, context, now));
    this.#last = result.catch(() => undefined);
    return result;
  }

  async close(): Promise<void> {
    const worker = this.#worker;
    this.#worker = null;
    await worker?.terminate();
  }

  #start(): Worker {
    const worker = new Worker(entryFile('backend/template-worker'), {
      execArgv: [],
      env: {},
      resourceLimits: { maxOldGenerationSizeMb: 512, stackSizeMb: 4 },
    });
    worker.unref();
    return worker;
  }

  /** Ready means that it answers: start-up must not count against the first template. */
  async #ready(): Promise<Worker> {
    if (this.#worker) return this.#worker;
    const worker = this.#start();
    await ask(worker, { source: '', context: {}, maxOutput: 1 }, 30_000);
    this.#worker = worker;
    return worker;
  }

  async #one(source: string, context: Record<string, unknown>, now?: number): Promise<string> {
    if (Buffer.byteLength(source) > maxTemplateBytes) {
      throw templateFailed(`it is larger than ${maxTemplateBytes >> 10} KiB`);
    }
    const worker = await this.#ready();
    const task = { source, context, now, maxOutput: this.budget.maxOutput };
    let answer: RenderAnswer;
    try {
      answer = await ask(worker, task, this.budget.milliseconds);
    } catch (error) {
      this.#worker = null;
      void worker.terminate();
      throw templateFailed(error instanceof Error ? error.message : String(error), { overrun: true });
    }
    if ('error' in answer) throw templateFailed(answer.error);
    return answer.text;
  }
}

function templateFailed(why: string, details?: Record<string, unknown>): AtelierError {
  const message = `The chat template cannot be used here: ${why}.`;
  return new AtelierError('template_failed', message, undefined, details);
}

function ask(worker: Worker, task: RenderTask, milliseconds: number): Promise<RenderAnswer> {
  return new Promise((resolve, reject) => {
    const settle = (act: () => void) => {
      clearTimeout(timer);
      worker.off('message', onMessage).off('error', onError).off('exit', onExit);
      act();
    };
    const onMessage = (answer: RenderAnswer) => settle(() => resolve(answer));
    const onError = (error: Error) => settle(() => reject(error));
    const onExit = () => settle(() => reject(new Error('its thread ended')));
    const timer = setTimeout(
      () => settle(() => reject(new Error(`it did not finish within ${milliseconds / 1000} s`))),
      milliseconds,
    );
    worker.on('message', onMessage).on('error', onError).on('exit', onExit);
    worker.postMessage(task);
  });
}
