import variant from '@jitl/quickjs-wasmfile-release-sync';
import {
  newQuickJSWASMModuleFromVariant,
  newVariant,
  type QuickJSContext,
  type QuickJSHandle,
  type QuickJSWASMModule,
} from 'quickjs-emscripten-core';
import { prelude } from './prelude';
import {
  batchLimit,
  processorTime,
  type Inspection,
  type Job,
  type Mistake,
  type SampleDone,
  type Task,
  type WorkerMessage,
} from './protocol';

const page = 65_536;
const startMemory = 16 << 20;
/** A hard limit: QuickJS's own memory limit does not bind in WebAssembly. */
const maxMemory = 256 << 20;
/** Above it a module is replaced after its batch, since WebAssembly memory never shrinks. */
const bigMemory = 64 << 20;
/** More makes deep recursion fail on our side instead of in the sandbox. */
const stackBytes = 256 << 10;
/** f32's largest: beyond it a reward is infinite to the engine, and its square to the statistics of a group. */
const LARGEST = (2 - 2 ** -23) * 2 ** 127;

interface WasmMemory {
  readonly buffer: ArrayBuffer;
}
/** Node has it; its types leave it to the DOM's. */
const { Memory } = (
  globalThis as unknown as {
    WebAssembly: { Memory: new (pages: { initial: number; maximum: number }) => WasmMemory };
  }
).WebAssembly;

/** QuickJS in WebAssembly: no files, network, timers or modules inside; fresh state for every batch. */
export class Sandbox {
  #module: { quickjs: QuickJSWASMModule; memory: WasmMemory } | null = null;

  async run(task: Task, post: (message: WorkerMessage) => void): Promise<void> {
    this.#module ??= await load();
    const { quickjs, memory } = this.#module;
    post({ kind: 'started', id: task.id });
    const session = new Session(quickjs, task);
    post({ kind: 'loaded', id: task.id });
    try {
      if (task.kind === 'inspect') {
        post({ kind: 'done', id: task.id, batch: session.batch, ...session.inspect(task) });
      } else {
        session.score(task, post);
        post({ kind: 'done', id: task.id, batch: session.batch });
      }
      const clean = session.dispose();
      if (!clean || memory.buffer.byteLength > bigMemory) this.#module = null;
    } catch (error) {
      // Something failed on our side of the wall: the module is in an unknown state.
      this.#module = null;
      throw error;
    }
  }
}

async function load() {
  const memory = new Memory({ initial: startMemory / page, maximum: maxMemory / page });
  return {
    quickjs: await newQuickJSWASMModuleFromVariant(newVariant(variant, { wasmMemory: memory as never })),
    memory,
  };
}

type Outcome = Omit<SampleDone, 'kind' | 'id' | 'milliseconds'>;

class Session {
  batch = false;
  readonly #context: QuickJSContext;
  readonly #runtime: ReturnType<QuickJSWASMModule['newRuntime']>;
  #deadline = Infinity;
  #processorDeadline = 0;
  #overran = false;
  #reward: QuickJSHandle | null = null;
  #params: QuickJSHandle | null = null;
  #mistake: { status: 'error' | 'timeout'; mistake: Mistake } | null = null;
  /** Handles that live as long as the session. */
  readonly #owned: QuickJSHandle[] = [];
  #module: QuickJSHandle | null = null;
  #tools!: { parse: QuickJSHandle; stringify: QuickJSHandle; seed: QuickJSHandle; kind: QuickJSHandle };

  constructor(quickjs: QuickJSWASMModule, task: Task) {
    this.#runtime = quickjs.newRuntime();
    this.#runtime.setMaxStackSize(stackBytes);
    this.#runtime.setInterruptHandler(() => {
      const over = performance.now() > this.#deadline && processorTime() > this.#processorDeadline;
      if (over) this.#overran = true;
      return over;
    });
    this.#context = this.#runtime.newContext();
    const tools = this.#context.unwrapResult(this.#context.evalCode(prelude, 'prelude.js'));
    const tool = (name: string) => this.#own(this.#context.getProp(tools, name));
    this.#tools = {
      parse: tool('parse'),
      stringify: tool('stringify'),
      seed: tool('seed'),
      kind: tool('kind'),
    };
    tools.dispose();
    this.#load(task.code, task.limit);
  }

  /** What is wrong with the module; else its `params` as JSON, where it has any. */
  inspect({ limit }: Inspection): { mistake?: Mistake; params?: string } {
    if (this.#mistake) return { mistake: this.#mistake.mistake };
    const params = this.#own(this.#context.getProp(this.#module!, 'params'));
    if (this.#context.typeof(params) === 'undefined') return {};
    this.#arm(limit);
    const result = this.#context.callFunction(this.#tools.stringify, this.#context.undefined, params);
    if (result.error) return { mistake: this.#failure(result.error).mistake };
    const json = this.#own(result.value);
    if (this.#context.typeof(json) === 'string') return { params: this.#context.getString(json) };
    return { mistake: { message: '"export const params" must be an object of settings' } };
  }

  score(job: Job, post: (message: WorkerMessage) => void): void {
    const done = (outcome: Outcome, milliseconds: number) =>
      post({ kind: 'sample', id: job.id, milliseconds, ...outcome });
    if (this.#mistake || !this.#reward) {
      const { status, mistake } = this.#mistake ?? {
        status: 'error',
        mistake: { message: 'there is no function' },
      };
      for (let index = 0; index < job.count; index++) done({ status, value: NaN, mistake }, 0);
      return;
    }
    const samples = this.#parse(job.samples);
    this.#params = this.#parse(job.params);
    if (this.batch) {
      post({ kind: 'batch', id: job.id });
      const started = performance.now();
      const outcomes = this.#batch(job, samples);
      const each = (performance.now() - started) / job.count;
      for (const outcome of outcomes) done(outcome, each);
      return;
    }
    for (let index = 0; index < job.count; index++) {
      const started = performance.now();
      const outcome = this.#sample(job, samples, index);
      done(outcome, performance.now() - started);
    }
  }

  /** False where QuickJS complains (values left behind by an interrupted call): the module is then thrown away. */
  dispose(): boolean {
    try {
      for (const handle of this.#owned) if (handle.alive) handle.dispose();
      this.#context.dispose();
      this.#runtime.dispose();
      return true;
    } catch {
      return false;
    }
  }

  #own(handle: QuickJSHandle): QuickJSHandle {
    this.#owned.push(handle);
    return handle;
  }

  #load(code: string, limit: number): void {
    this.#arm(limit);
    const result = this.#context.evalCode(code, 'reward.ts', { type: 'module' });
    if (result.error) {
      this.#mistake = this.#failure(result.error);
      return;
    }
    const module = this.#own(result.value);
    this.#module = module;
    const state = this.#context.getPromiseState(module);
    if (state.type === 'fulfilled' && state.value !== module) this.#own(state.value);
    if (state.type === 'pending') {
      this.#mistake = { status: 'error', mistake: { message: 'await outside a function never ends here' } };
      return;
    }
    const reward = this.#own(this.#context.getProp(module, 'default'));
    if (this.#context.typeof(reward) !== 'function') {
      const message = 'there is no "export default function reward(...)"';
      this.#mistake = { status: 'error', mistake: { message } };
      return;
    }
    this.#reward = reward;
    const batch = this.#context.getProp(module, 'batch');
    this.batch = this.#context.typeof(batch) === 'boolean' && this.#context.dump(batch) === true;
    batch.dispose();
  }

  #parse(json: string): QuickJSHandle {
    const text = this.#context.newString(json);
    const parsed = this.#context.callFunction(this.#tools.parse, this.#context.undefined, text);
    text.dispose();
    return this.#own(this.#context.unwrapResult(parsed));
  }

  #sample(job: Job, samples: QuickJSHandle, index: number): Outcome {
    this.#seed(job, job.indices[index] ?? index);
    const record = this.#context.getProp(samples, index);
    this.#arm(job.limit);
    const result = this.#context.callFunction(this.#reward!, this.#context.undefined, record, this.#params!);
    record.dispose();
    if (result.error) return { value: NaN, ...this.#failure(result.error) };
    const outcome = this.#read(result.value);
    if (result.value.alive) result.value.dispose();
    return outcome;
  }

  #batch(job: Job, samples: QuickJSHandle): Outcome[] {
    const all = (outcome: Outcome) => Array.from({ length: job.count }, () => outcome);
    this.#seed(job, job.indices[0] ?? 0);
    this.#arm(batchLimit(job.limit, job.count));
    const result = this.#context.callFunction(this.#reward!, this.#context.undefined, samples, this.#params!);
    if (result.error) return all({ value: NaN, ...this.#failure(result.error) });
    this.#own(result.value);
    const kind = this.#kind(result.value);
    if (this.#isPromise(result.value)) return all(wrongType(PROMISE));
    if (kind !== 'array')
      return all(wrongType(`a batch function answers with an array, this one with ${named(kind)}`));
    const length = this.#context.getProp(result.value, 'length');
    const count = this.#context.getNumber(length);
    length.dispose();
    if (this.#overran) return all(OVERRAN);
    if (count !== job.count) {
      return all({
        status: 'error',
        value: NaN,
        mistake: { message: `${count} rewards for ${job.count} samples` },
      });
    }
    const outcomes: Outcome[] = [];
    // an entry may be a getter of the user's, which runs here
    while (outcomes.length < count && !this.#overran) {
      const entry = this.#context.getProp(result.value, outcomes.length);
      outcomes.push(this.#read(entry));
      if (entry.alive) entry.dispose();
    }
    return this.#overran ? all(OVERRAN) : outcomes;
  }

  #read(value: QuickJSHandle): Outcome {
    const kind = this.#kind(value);
    if (kind === 'null') return { status: 'abstain', value: NaN };
    if (kind === 'boolean') return { status: 'ok', value: this.#context.dump(value) === true ? 1 : 0 };
    if (this.#isPromise(value)) return wrongType(PROMISE);
    if (kind !== 'number')
      return wrongType(`a reward is a number, a boolean or null, this is ${named(kind)}`);
    const number = this.#context.getNumber(value);
    if (Math.abs(number) <= LARGEST) return { status: 'ok', value: number };
    const beyond = Number.isFinite(number) ? `, beyond ±${LARGEST.toPrecision(2)}` : '';
    return { status: 'nonfinite', value: NaN, mistake: { message: `the reward is ${number}${beyond}` } };
  }

  #kind(value: QuickJSHandle): string {
    const deadline = this.#deadline;
    this.#deadline = Infinity;
    const result = this.#context.unwrapResult(
      this.#context.callFunction(this.#tools.kind, this.#context.undefined, value),
    );
    const kind = this.#context.getString(result);
    result.dispose();
    this.#deadline = deadline;
    return kind;
  }

  /** By what it is, not by what its properties say: those may be getters of the user's. */
  #isPromise(value: QuickJSHandle): boolean {
    const state = this.#context.getPromiseState(value);
    if (state.type === 'pending') return true;
    const result = state.type === 'fulfilled' ? state.value : state.error;
    if (result !== value && result.alive) result.dispose();
    return state.type === 'rejected' || state.notAPromise !== true;
  }

  #seed(job: Job, index: number): void {
    const numbers = [job.seed, job.step, index].map((value) => this.#context.newNumber(value));
    this.#deadline = Infinity;
    const result = this.#context.callFunction(this.#tools.seed, this.#context.undefined, ...numbers);
    this.#context.unwrapResult(result).dispose();
    for (const number of numbers) number.dispose();
  }

  #arm(milliseconds: number): void {
    this.#overran = false;
    this.#deadline = performance.now() + milliseconds;
    this.#processorDeadline = processorTime() + milliseconds;
  }

  #failure(error: QuickJSHandle): { status: 'error' | 'timeout'; mistake: Mistake } {
    this.#deadline = performance.now() + 100;
    const overran = this.#overran;
    const dumped: unknown = this.#context.dump(error);
    if (error.alive) error.dispose();
    if (overran)
      return { status: 'timeout', mistake: { message: 'it did not finish in time', ...place(dumped) } };
    return { status: 'error', mistake: { message: describe(dumped), ...place(dumped) } };
  }
}

const OVERRAN: Outcome = {
  status: 'timeout',
  value: NaN,
  mistake: { message: 'it did not finish in time' },
};
const PROMISE = 'a reward answers at once, this is a Promise: leave out async and await';

function wrongType(message: string): Outcome {
  return { status: 'wrong_type', value: NaN, mistake: { message } };
}

function named(kind: string): string {
  if (kind === 'undefined') return 'undefined (is a return missing?)';
  return `${/^[aeiou]/.test(kind) ? 'an' : 'a'} ${kind}`;
}

function describe(error: unknown): string {
  if (typeof error !== 'object' || error === null) return `threw ${String(error)}`.slice(0, 500);
  const { name, message } = error as { name?: unknown; message?: unknown };
  if (message === 'out of memory') return `out of memory: a reward may use ${maxMemory >> 20} MB`;
  return `${typeof name === 'string' ? name : 'Error'}: ${String(message)}`.slice(0, 500);
}

/** The innermost frame in the user's code. Blanked types keep their places, so no map is needed. */
function place(error: unknown): { line?: number; column?: number } {
  const stack = typeof error === 'object' && error !== null && 'stack' in error ? String(error.stack) : '';
  const found = /reward\.ts:(\d+)(?::(\d+))?/.exec(stack);
  if (!found) return {};
  return { line: Number(found[1]), ...(found[2] ? { column: Number(found[2]) } : {}) };
}
