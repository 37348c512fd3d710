// Renders templates on a thread of its own, so that a template that never ends can be killed.
import { Environment, Template } from '@huggingface/jinja';
import { parentPort } from 'node:worker_threads';
import type { RenderAnswer, RenderTask } from './renderer';

/**
 * The library's range() makes the whole array at once: one call with a large number exhausts the thread's heap
 * in a way that ends the process, before any deadline. No chat has so many messages.
 */
const longestRange = 100_000;
const set = Environment.prototype.set;
Environment.prototype.set = function bounded(this: Environment, name, value) {
  if (name !== 'range' || typeof value !== 'function') return set.call(this, name, value);
  const range = value as (...numbers: number[]) => number[];
  return set.call(this, name, (start: number, stop?: number, step?: number) => {
    const [from, to] = stop === undefined ? [0, start] : [start, stop];
    if (Math.abs((to - from) / (step ?? 1)) > longestRange)
      throw new Error(`range() of more than ${longestRange} numbers`);
    return stop === undefined
      ? range(start)
      : step === undefined
        ? range(start, stop)
        : range(start, stop, step);
  });
};

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
