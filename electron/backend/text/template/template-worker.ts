// Renders templates on a thread of its own, so that a template that never ends can be killed.
import { Template } from '@huggingface/jinja';
import { parentPort } from 'node:worker_threads';
import type { RenderAnswer, RenderTask } from './renderer';

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

parentPort?.on('message', ({ source, context, now, maxOutput }: RenderTask) => {
  let answer: RenderAnswer;
  try {
    const text = atTime(now, () => template(source).render(context));
    answer = text.length > maxOutput ? { error: `it wrote more than ${maxOutput} characters` } : { text };
  } catch (error) {
    answer = { error: error instanceof Error ? error.message : String(error) };
  }
  parentPort?.postMessage(answer);
});
