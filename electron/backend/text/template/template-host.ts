// Renders templates in a process of its own: one that never ends, or that eats the memory, is killed with it.
import { Template } from '@huggingface/jinja';
import { Script } from 'node:vm';
import { childPort } from '../../../supervise/child-port';
import { REPORT_EVERY_MS, type RenderAnswer, type RenderBatch } from './render-protocol';

const RealDate = Date;
const compiled = new Map<string, Template>();

function template(source: string): Template {
  let found = compiled.get(source);
  if (!found) {
    found = new Template(source);
    if (compiled.size >= 16) compiled.clear();
    compiled.set(source, found);
  }
  return found;
}

/** `strftime_now` reads the global clock; a fixed time makes a dated prompt repeatable. */
function atTime<T>(now: number | undefined, work: () => T): T {
  if (now === undefined) return work();
  globalThis.Date = class extends RealDate {
    constructor(...values: unknown[]) {
      if (values.length === 0) super(now as number);
      else super(...(values as [number]));
    }
  } as DateConstructor;
  try {
    return work();
  } finally {
    globalThis.Date = RealDate;
  }
}

/**
 * The backend kills this process when a template overruns. A backend that was killed itself does not: then the
 * work ends by this limit, and the process with it.
 */
const orphanLimit = 10_000;
const slot = globalThis as { work?: () => string };
const call = new Script('work()');
function limited(work: () => string): string {
  slot.work = work;
  return call.runInThisContext({ timeout: orphanLimit }) as string;
}

function answer(context: Record<string, unknown>, { source, now, maxOutput }: RenderBatch): RenderAnswer {
  try {
    const text = limited(() => atTime(now, () => template(source).render(context)));
    return text.length > maxOutput ? { error: `it wrote more than ${maxOutput} characters` } : { text };
  } catch (error) {
    return { error: error instanceof Error ? error.message : String(error) };
  }
}

const port = childPort();
port.onMessage((message) => void answerAll(message as RenderBatch));

async function answerAll(batch: RenderBatch): Promise<void> {
  let ready: RenderAnswer[] = [];
  let reported = performance.now();
  for (const context of batch.contexts) {
    ready.push(answer(context, batch));
    if (performance.now() - reported < REPORT_EVERY_MS) continue;
    void port.post(ready);
    ready = [];
    reported = performance.now();
    // a message leaves for certain when the loop turns
    await new Promise((resolve) => setImmediate(resolve));
  }
  if (ready.length > 0) void port.post(ready);
}
