import { AtelierError } from '../../../../shared/rpc/errors';
import type { HostSpawn, Spawned } from '../../../supervise/host-spawn';
import { nodeSpawn } from '../../../supervise/node-spawn';
import { REPORT_EVERY_MS, type RenderAnswer, type RenderBatch } from './render-protocol';

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
const BATCH_CONTEXTS = 128;
const BATCH_CHARACTERS = 1 << 20;

interface Job {
  source: string;
  context: Record<string, unknown>;
  now: number | undefined;
  settle: (answer: RenderAnswer) => void;
  fail: (error: AtelierError) => void;
}

/**
 * Renders in a process that is killed and replaced when a template overruns. A thread would not do: one large
 * allocation past its limit ends the whole process. What is asked while it works goes to it as one message.
 */
export class Renderer {
  readonly #spawn: HostSpawn;
  readonly #budget: RenderBudget;
  readonly #queue: Job[] = [];
  #host: Spawned | null = null;
  #working = false;
  /** Of the batch that is rendered. */
  #answered: (answers: RenderAnswer[]) => void = () => undefined;
  #broke: (why: string) => void = () => undefined;

  constructor({ spawn = nodeSpawn, ...budget }: Partial<RenderBudget> & { spawn?: HostSpawn } = {}) {
    this.#spawn = spawn;
    this.#budget = { ...defaultBudget, ...budget };
  }

  render(source: string, context: Record<string, unknown>, now?: number): Promise<string> {
    if (Buffer.byteLength(source) > maxTemplateBytes) {
      return Promise.reject(templateFailed(`it is larger than ${maxTemplateBytes >> 10} KiB`));
    }
    return new Promise((resolve, reject) => {
      const settle = (answer: RenderAnswer) =>
        'error' in answer ? reject(templateFailed(answer.error)) : resolve(answer.text);
      this.#queue.push({ source, context, now, settle, fail: reject });
      if (!this.#working) void this.#work();
    });
  }

  close(): void {
    const host = this.#host;
    this.#host = null;
    host?.kill('SIGKILL');
    this.#broke('its process ended');
  }

  async #work(): Promise<void> {
    this.#working = true;
    // what is asked for in the same turn goes along
    await new Promise((resolve) => setImmediate(resolve));
    while (this.#queue.length > 0) await this.#render(this.#take());
    this.#working = false;
  }

  /** The jobs that come next and are of one template. */
  #take(): Job[] {
    const [first] = this.#queue as [Job];
    let count = 1;
    let characters = charactersOf(first.context);
    while (count < BATCH_CONTEXTS && characters < BATCH_CHARACTERS) {
      const next = this.#queue[count];
      if (next?.source !== first.source || next.now !== first.now) break;
      characters += charactersOf(next.context);
      count++;
    }
    return this.#queue.splice(0, count);
  }

  /** A template that overruns fails all that wait for it: it would overrun again, at seconds each. */
  async #render(jobs: Job[]): Promise<void> {
    const { source, now } = jobs[0]!;
    const contexts = jobs.map(({ context }) => context);
    const { milliseconds, maxOutput } = this.#budget;
    let done = 0;
    try {
      await this.#ready();
      await this.#ask(
        { source, contexts, ...(now === undefined ? {} : { now }), maxOutput },
        milliseconds,
        (answer) => jobs[done++]!.settle(answer),
      );
    } catch (error) {
      this.close();
      const failure = templateFailed(error instanceof Error ? error.message : String(error), {
        overrun: true,
      });
      for (const job of jobs.slice(done)) job.fail(failure);
    }
  }

  /** Ready means that it answers: start-up must not count against the first template. */
  async #ready(): Promise<void> {
    if (this.#host) return;
    const host = await this.#spawn('template');
    this.#host = host;
    host.port.onMessage((message) => {
      // what a killed host had still said belongs to no batch any more
      if (this.#host === host) this.#answered(message as RenderAnswer[]);
    });
    host.onExit((code, signal) => {
      if (this.#host !== host) return;
      this.#host = null;
      this.#broke(`its process ended by ${signal ?? `code ${code}`}, most likely for want of memory`);
    });
    await this.#ask({ source: '', contexts: [{}], maxOutput: 1 }, startLimit, () => undefined);
  }

  #ask(batch: RenderBatch, milliseconds: number, each: (answer: RenderAnswer) => void): Promise<void> {
    return new Promise((resolve, reject) => {
      let left = batch.contexts.length;
      const overrun = () => reject(new Error(`it did not finish within ${milliseconds / 1000} s`));
      const wait = () => setTimeout(overrun, milliseconds + REPORT_EVERY_MS);
      let timer = wait();
      this.#answered = (answers) => {
        clearTimeout(timer);
        answers.slice(0, left).forEach(each);
        left -= answers.length;
        if (left > 0) timer = wait();
        else resolve();
      };
      this.#broke = (why) => {
        clearTimeout(timer);
        reject(new Error(why));
      };
      if (this.#host) void this.#host.port.post(batch);
      else this.#broke('its process ended');
    });
  }
}

/** Length of the texts in it, about what its message costs. */
function charactersOf(value: unknown): number {
  if (typeof value === 'string') return value.length;
  if (typeof value !== 'object' || value === null) return 8;
  return Object.values(value).reduce((sum: number, entry) => sum + charactersOf(entry), 8);
}

function templateFailed(why: string, details?: Record<string, unknown>): AtelierError {
  const message = `The chat template cannot be used here: ${why}.`;
  return new AtelierError('template_failed', message, undefined, details);
}
