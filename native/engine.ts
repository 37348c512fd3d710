import { EngineError } from './face';
import type {
  AdapterInfo,
  Device,
  Engine,
  EngineErrorCode,
  EngineOptions,
  EngineStats,
  GenerateProgress,
  GenerateResult,
  ModelInfo,
  OptimizerId,
  ProgramResult,
  ScoreResult,
  StepResult,
} from './face';

/** A verb of the addon's class: its promise settles when the engine's thread has done the job. */
type Verb<Result> = (
  job: number,
  request: object,
  onProgress?: (p: GenerateProgress) => void,
) => Promise<Result>;

/** The class that atelier.node exports. */
export interface NativeEngine {
  stats(): Promise<EngineStats>;
  cancel(job: number): void;
  close(): Promise<void>;
  /** Like close, but returns only when nothing computes any more. */
  shutDown(): void;
  clearCache: Verb<void>;
  resetPeak: Verb<void>;
  loadModel: Verb<ModelInfo>;
  initModel: Verb<ModelInfo>;
  saveModel: Verb<void>;
  unloadModel: Verb<void>;
  exportModel: Verb<void>;
  createAdapter: Verb<AdapterInfo>;
  loadAdapter: Verb<AdapterInfo>;
  saveAdapter: Verb<void>;
  adapterNorms: Verb<{ name: string; maxA: number; maxB: number }[]>;
  unloadAdapter: Verb<void>;
  generate: Verb<GenerateResult>;
  score: Verb<ScoreResult>;
  logits: Verb<Float32Array>;
  createOptimizer: Verb<OptimizerId>;
  saveOptimizer: Verb<void>;
  loadOptimizer: Verb<void>;
  freeOptimizer: Verb<void>;
  step: Verb<StepResult>;
  /** Waits for the other ranks. */
  joinRanks: Verb<void>;
  evaluateProgram: Verb<ProgramResult>;
}
export type NativeEngineClass = new (options: EngineOptions & { ranks?: 'nccl' | 'ring' }) => NativeEngine;

/** The addon's errors carry the code as a property; ours are a class. */
export function engineError(error: unknown): EngineError {
  if (error instanceof EngineError) return error;
  const { code, message, hint } = error as { code?: EngineErrorCode; message?: string; hint?: string };
  return new EngineError(code ?? 'internal', message ?? String(error), hint);
}

// process.exit() destroys the libraries' globals while other threads run: engines have to stop before.
const alive = new Set<NativeEngine>();
process.on('exit', () => {
  for (const native of alive) native.shutDown();
});

export function wrapEngine(native: NativeEngine, device: Device): Engine {
  let jobs = 0;
  alive.add(native);

  async function run<Result>(verb: (job: number) => Promise<Result>, signal?: AbortSignal): Promise<Result> {
    if (signal?.aborted) throw new EngineError('cancelled', 'cancelled before it began');
    const job = ++jobs;
    const cancel = () => native.cancel(job);
    signal?.addEventListener('abort', cancel, { once: true });
    try {
      return await verb(job);
    } catch (error) {
      throw engineError(error);
    } finally {
      signal?.removeEventListener('abort', cancel);
    }
  }

  return {
    device,
    devices: 1,
    stats: () => run(() => native.stats()),
    clearCache: () => run((job) => native.clearCache(job, {})),
    resetPeak: () => run((job) => native.resetPeak(job, {})),

    loadModel: (path, options) => run((job) => native.loadModel(job, { path, ...options })),
    initModel: (config, options) => run((job) => native.initModel(job, { config, ...options })),
    saveModel: (model, dir, options) => run((job) => native.saveModel(job, { model, dir, ...options })),
    unloadModel: (model) => run((job) => native.unloadModel(job, { model })),

    exportModel: (request, hooks) => run((job) => native.exportModel(job, request), hooks?.signal),

    createAdapter: (model, spec) => run((job) => native.createAdapter(job, { model, spec })),
    loadAdapter: (model, dir) => run((job) => native.loadAdapter(job, { model, dir })),
    saveAdapter: (adapter, file) => run((job) => native.saveAdapter(job, { adapter, file })),
    adapterNorms: (adapter) => run((job) => native.adapterNorms(job, { adapter })),
    unloadAdapter: (adapter) => run((job) => native.unloadAdapter(job, { adapter })),

    generate: (request, hooks) =>
      run((job) => native.generate(job, request, hooks?.onProgress), hooks?.signal),
    score: (request, hooks) => run((job) => native.score(job, request), hooks?.signal),
    logits: (request) => run((job) => native.logits(job, request)),

    createOptimizer: (trainable, spec) => run((job) => native.createOptimizer(job, { trainable, spec })),
    saveOptimizer: (optimizer, file) => run((job) => native.saveOptimizer(job, { optimizer, file })),
    loadOptimizer: (optimizer, file) => run((job) => native.loadOptimizer(job, { optimizer, file })),
    freeOptimizer: (optimizer) => run((job) => native.freeOptimizer(job, { optimizer })),
    step: (request, hooks) => run((job) => native.step(job, request), hooks?.signal),
    evaluateProgram: (request) => run((job) => native.evaluateProgram(job, request)),

    close: () =>
      run(async () => {
        await native.close();
        alive.delete(native);
      }),
  };
}
