import { AtelierError } from '../../../../shared/rpc/errors';
import type { HostSpawn, Spawned } from '../../../supervise/host-spawn';
import { nodeSpawn } from '../../../supervise/node-spawn';

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

/**
 * Templates come with models and are hostile until rendered. A render takes milliseconds; the time is the clock's, and
 * a busy machine must not fail a good template.
 */
export const defaultBudget: RenderBudget = { milliseconds: 5000, maxOutput: 4 << 20 };
export const maxTemplateBytes = 256 << 10;

/** A host that is still starting: a busy machine takes its time. */
const startLimit = 30_000;

/**
 * Renders one at a time in a process that is killed and replaced when a template overruns. A thread would not do:
 * one large allocation past its limit ends the whole process.
 */
export class Renderer {
  readonly #spawn: HostSpawn;
  readonly #budget: RenderBudget;
  #host: Spawned | null = null;
  #last: Promise<unknown> = Promise.resolve();
  /** Of the task that runs. */
  #answered: (answer: RenderAnswer) => void = () => undefined;
  #broke: (why: string) => void = () => undefined;

  constructor({ spawn = nodeSpawn, ...budget }: Partial<RenderBudget> & { spawn?: HostSpawn } = {}) {
    this.#spawn = spawn;
    this.#budget = { ...defaultBudget, ...budget };
  }

  render(source: string, context: Record<string, unknown>, now?: number): Promise<string> {
    const result = this.#last.then(() => this.#one(source, context, now));
    this.#last = result.catch(() => undefined);
    return result;
  }

  close(): void {
    const host = this.#host;
    this.#host = null;
    host?.kill('SIGKILL');
    this.#broke('its process ended');
  }

  /** Ready means that it answers: start-up must not count against the first template. */
  async #ready(): Promise<void> {
    if (this.#host) return;
    const host = await this.#spawn('template');
    this.#host = host;
    host.port.onMessage((message) => {
      // what a killed host had still said belongs to no task any more
      if (this.#host === host) this.#answered(message as RenderAnswer);
    });
    host.onExit((code, signal) => {
      if (this.#host !== host) return;
      this.#host = null;
      this.#broke(`its process ended by ${signal ?? `code ${code}`}, most likely for want of memory`);
    });
    await this.#ask({ source: '', context: {}, maxOutput: 1 }, startLimit);
  }

  async #one(source: string, context: Record<string, unknown>, now?: number): Promise<string> {
    if (Buffer.byteLength(source) > maxTemplateBytes) {
      throw templateFailed(`it is larger than ${maxTemplateBytes >> 10} KiB`);
    }
    let answer: RenderAnswer;
    try {
      await this.#ready();
      const task = { source, context, now, maxOutput: this.#budget.maxOutput };
      answer = await this.#ask(task, this.#budget.milliseconds);
    } catch (error) {
      this.close();
      throw templateFailed(error instanceof Error ? error.message : String(error), { overrun: true });
    }
    if ('error' in answer) throw templateFailed(answer.error);
    return answer.text;
  }

  #ask(task: RenderTask, milliseconds: number): Promise<RenderAnswer> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(
        () => reject(new Error(`it did not finish within ${milliseconds / 1000} s`)),
        milliseconds,
      );
      this.#answered = (answer) => {
        clearTimeout(timer);
        resolve(answer);
      };
      this.#broke = (why) => {
        clearTimeout(timer);
        reject(new Error(why));
      };
      if (this.#host) void this.#host.port.post(task);
      else this.#broke('its process ended');
    });
  }
}

function templateFailed(why: string, details?: Record<string, unknown>): AtelierError {
  const message = `The chat template cannot be used here: ${why}.`;
  return new AtelierError('template_failed', message, undefined, details);
}
