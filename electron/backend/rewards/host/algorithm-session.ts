import { readFileSync } from 'node:fs';
import type {
  QuickJSContext,
  QuickJSHandle,
  QuickJSRuntime,
  QuickJSWASMModule,
} from 'quickjs-emscripten-core';
import { entryFile } from '../../../supervise/entry-file';
import { ALGORITHM_ENTRY, ALGORITHM_FILE, algorithmModules } from './algorithm-modules';
import { Deadline } from './deadline';
import { describeError, placeIn } from './errors';
import { prelude } from './prelude';
import { STACK_BYTES } from './limits';
import type { Call, Mistake } from './protocol';

/** Longest answer of a call, in characters of JSON. */
const LONGEST = 32 << 20;
let kit: string | null = null;

/** An algorithm in the sandbox: what it exports are pure functions, so it stays from call to call. */
export class AlgorithmSession {
  readonly #runtime: QuickJSRuntime;
  readonly #context: QuickJSContext;
  readonly #deadline = new Deadline();
  #call: QuickJSHandle | null = null;
  #mistake: Mistake | null = null;

  constructor(
    quickjs: QuickJSWASMModule,
    readonly code: string,
    limit: number,
  ) {
    this.#runtime = quickjs.newRuntime();
    this.#runtime.setMaxStackSize(STACK_BYTES);
    this.#runtime.setInterruptHandler(() => this.#deadline.over());
    kit ??= readFileSync(entryFile('backend/algorithm-kit'), 'utf8');
    const modules = algorithmModules(kit, code);
    this.#runtime.setModuleLoader(
      (name) => modules.get(name) ?? { error: new Error(`an algorithm cannot import "${name}"`) },
      (_from, name) => name,
    );
    this.#context = this.#runtime.newContext();
    this.#context.unwrapResult(this.#context.evalCode(prelude, 'prelude.js')).dispose();
    this.#load(limit);
  }

  /** JSON in, JSON out. */
  run({ name, args, limit }: Call): { result: string } | { mistake: Mistake } {
    if (this.#mistake || !this.#call)
      return { mistake: this.#mistake ?? { message: 'there is no algorithm' } };
    this.#deadline.arm(limit);
    const [first, second] = [this.#context.newString(name), this.#context.newString(args)];
    const result = this.#context.callFunction(this.#call, this.#context.undefined, first, second);
    first.dispose();
    second.dispose();
    if (result.error) return { mistake: this.#failure(result.error) };
    const json = this.#context.getString(result.value);
    result.value.dispose();
    if (json.length > LONGEST)
      return { mistake: { message: `its answer is longer than ${LONGEST >> 20} MB` } };
    return { result: json };
  }

  /** False where QuickJS complains: its module is then thrown away. */
  dispose(): boolean {
    try {
      this.#call?.dispose();
      this.#context.dispose();
      this.#runtime.dispose();
      return true;
    } catch {
      return false;
    }
  }

  #load(limit: number): void {
    this.#deadline.arm(limit);
    const loaded = this.#context.evalCode(ALGORITHM_ENTRY, 'entry.js', { type: 'module' });
    if (loaded.error) {
      this.#mistake = this.#failure(loaded.error);
      return;
    }
    const state = this.#context.getPromiseState(loaded.value);
    if (state.type === 'rejected') this.#mistake = this.#failure(state.error);
    else if (state.type === 'pending' || this.#deadline.overran)
      this.#mistake = {
        message: this.#deadline.overran
          ? 'it did not finish in time'
          : 'await outside a function never ends here',
      };
    else {
      const module = state.value;
      this.#call = this.#context.getProp(module, 'call');
      if (module !== loaded.value) module.dispose();
    }
    if (loaded.value.alive) loaded.value.dispose();
  }

  #failure(error: QuickJSHandle): Mistake {
    const overran = this.#deadline.overran;
    this.#deadline.arm(100);
    const dumped: unknown = this.#context.dump(error);
    if (error.alive) error.dispose();
    const message = overran ? 'it did not finish in time' : describeError(dumped, 'an algorithm');
    return { message, ...placeIn(dumped, ALGORITHM_FILE) };
  }
}
