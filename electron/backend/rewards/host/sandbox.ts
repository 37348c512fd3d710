import variant from '@jitl/quickjs-wasmfile-release-sync';
import {
  newQuickJSWASMModuleFromVariant,
  newVariant,
  type QuickJSContext,
  type QuickJSHandle,
  type QuickJSWASMModule,
} from 'quickjs-emscripten-core';
import { AlgorithmSession } from './algorithm-session';
import { Deadline } from './deadline';
import { describeError, placeIn } from './errors';
import { MAX_MEMORY, STACK_BYTES } from './limits';
import { prelude } from './prelude';
import {
  batchLimit,
  type Call,
  type Inspection,
  type Job,
  type Mistake,
  type SampleDone,
  type Task,
  type WorkerMessage,
} from './protocol';

const FILE = 'reward.ts';
const page = 65_536;
const startMemory = 16 << 20;
/** Above it a module is replaced after its batch, since WebAssembly memory never shrinks. */
const bigMemory = 64 << 20;
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
  #algorithm: AlgorithmSession | null = null;

  async run(task: Task, post: (message: WorkerMessage) => void): Promise<void> {
    this.#module ??= await load();
    const { quickjs, memory } = this.#module;
    post({ kind: 'started', id: task.id });
    if (task.kind === 'call') {
      this.#call(quickjs, task, post);
      return;
    }
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
      if (!clean || memory.buffer.byteLength > bigMemory) this.#forget();
    } catch (error) {
      // Something failed on our side of the wall: the module is in an unknown state.
      this.#forget();
      throw error;
    }
  }

  /** An algorithm stays from call to call: to load it takes longer than to call it. */
  #call(quickjs: QuickJSWASMModule, task: Call, post: (message: WorkerMessage) => void): void {
    if (this.#algorithm?.code !== task.code) {
      const clean = this.#algorithm?.dispose() ?? true;
      this.#algorithm = null;
      if (!clean) throw new Error('the algorithm before left something behind');
      this.#algorithm = new AlgorithmSession(quickjs, task.code, task.limit);
    }
    post({ kind: 'loaded', id: task.id });
    post({ kind: 'done', id: task.id, batch: false, ...this.#algorithm.run(task) });
  }

  #forget(): void {
    this.#module = null;
    this.#algorithm = null;
  }
}

async function load() {
  const memory = new Memory({ initial: startMemory / page, maximum: MAX_MEMORY / page });
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
  readonly #deadline = new Deadline();
  #reward: QuickJSHandle | null = null;
  #params: QuickJSHandle | null = null;
  #mistake: { status: 'error' | 'timeout'; mistake: Mistake } | null = null;
  /** Handles that live as long as the session. */
  readonly #owned: QuickJSHandle[] = [];
  #module: QuickJSHandle | null = null;
  #tools!: { parse: QuickJSHandle; stringify: QuickJSHandle; seed: QuickJSHandle; kind: QuickJSHandle };

  constructor(quickjs: QuickJSWASMModule, task: Job | Inspection) {
    this.#runtime = quickjs.newRuntime();
    this.#runtime.setMaxStackSize(STACK_BYTES);
    this.#runtime.setInterruptHandler(() => this.#deadline.over());
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
    this.#deadline.arm(limit);
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
    this.#deadline.arm(limit);
    const result = this.#context.evalCode(code, FILE, { type: 'module' });
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
    this.#deadline.arm(job.limit);
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
    this.#deadline.arm(batchLimit(job.limit, job.count));
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
    if (this.#deadline.overran) return all(OVERRAN);
    if (count !== job.count) {
      return all({
        status: 'error',
        value: NaN,
        mistake: { message: `${count} rewards for ${job.count} samples` },
      });
    }
    const outcomes: Outcome[] = [];
    // an entry may be a getter of the user's, which runs here
    while (outcomes.length < count && !this.#deadline.overran) {
      const entry = this.#context.getProp(result.value, outcomes.length);
      outcomes.push(this.#read(entry));
      if (entry.alive) entry.dispose();
    }
    return this.#deadline.overran ? all(OVERRAN) : outcomes;
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
    return this.#deadline.without(() => {
      const result = this.#context.unwrapResult(
        this.#context.callFunction(this.#tools.kind, this.#context.undefined, value),
      );
      const kind = this.#context.getString(result);
      result.dispose();
      return kind;
    });
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
    this.#deadline.without(() => {
      const result = this.#context.callFunction(this.#tools.seed, this.#context.undefined, ...numbers);
      this.#context.unwrapResult(result).dispose();
    });
    for (const number of numbers) number.dispose();
  }

  #failure(error: QuickJSHandle): { status: 'error' | 'timeout'; mistake: Mistake } {
    const { overran } = this.#deadline;
    this.#deadline.arm(100);
    const dumped: unknown = this.#context.dump(error);
    if (error.alive) error.dispose();
    if (overran)
      return {
        status: 'timeout',
        mistake: { message: 'it did not finish in time', ...placeIn(dumped, FILE) },
      };
    return {
      status: 'error',
      mistake: { message: describeError(dumped, 'a reward'), ...placeIn(dumped, FILE) },
    };
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
