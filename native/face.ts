/**
 * The engine's face: everything the backend can ask of the native engine.
 *
 * Rows are token sequences without padding, stored end to end. A row of n tokens has n - 1 targets (its
 * tokens 1..n-1), so a request with rows of lengths n_i has T = sum(n_i - 1) targets: every `[T]` array
 * below follows that order, prompt targets included. `[N]` is one entry a row, `[S]` one entry a
 * trajectory. Padding, packing and chunking are the engine's own affair.
 *
 * All calls resolve on the JS thread; the work happens on the engine's one thread, first come first
 * served. Errors are `EngineError` with a code of `EngineErrorCode`.
 */
import type {
  AdapterId,
  AdapterInfo,
  Device,
  DeviceInfo,
  Dtype,
  EngineOptions,
  EngineStats,
  ExportModelRequest,
  GgufContents,
  LoadOptions,
  LoraSpec,
  ModelFacts,
  ModelId,
  ModelInfo,
  OptimizerId,
  RankOptions,
  Rows,
} from './models';
import type {
  Trainable,
  OptimizerSpec,
  StepRequest,
  StepResult,
  ProgramRequest,
  ProgramResult,
} from './training';

export * from './models';
export * from './training';

export type FinishReason = 'stop' | 'length' | 'cancelled';

/** Default of `maxRows`; as infer/generate.h has it. */
export const ROWS_AT_ONCE = 256;

export interface GenerateRequest {
  model: ModelId;
  /** null: the base model alone. */
  adapter: AdapterId | null;
  prompts: Int32Array[];
  /** Completions of each prompt; a prompt is prefilled once for all of them. */
  samplesPerPrompt: number;
  maxNewTokens: number;
  /** 0 is greedy. */
  temperature: number;
  /** 0 is off. */
  topK?: number;
  /** 1 is off. */
  topP?: number;
  /** 0 is off. */
  minP?: number;
  /** Keeps the tokens whose surprise is nearest to the entropy, up to this mass. 1 is off. */
  typicalP?: number;
  /** Least probability of a token other than the likeliest. 0 is off. */
  epsilonCutoff?: number;
  /** Logits of tokens of prompt and answer are divided by it where above 0, else multiplied. 1 is off. */
  repetitionPenalty?: number;
  /** Off the logits of the answer's tokens: once for each time a token was said. 0 is off. */
  frequencyPenalty?: number;
  /** Off the logits of the answer's tokens: once. 0 is off. */
  presencePenalty?: number;
  /** No sequence of so many tokens comes twice in prompt and answer. 0 is off. */
  noRepeatNgram?: number;
  /** Tokens of an answer before which no stop id is drawn. 0 is off. */
  minNewTokens?: number;
  /** Added to logits, by token id. */
  logitBias?: Record<string, number>;
  /** Never drawn. */
  suppressIds?: Int32Array;
  /** Generation of a row ends after any of these; the stop id is part of the row. */
  stopIds: Int32Array;
  /** Draws are a pure function of (seed, rollout id, token position). 0 <= seed < 2^53. */
  seed: number;
  /** [prompts * samplesPerPrompt], each below 2^32; default 0, 1, 2 ... */
  rolloutIds?: Uint32Array;
  /** Rows decoded at once at most; the rest wait their turn. Default: ROWS_AT_ONCE; fewer where memory does not hold them. */
  maxRows?: number;
}

export interface GeneratedRow {
  prompt: number;
  /** Without the prompt; the stop id included where it ended the row. */
  ids: Int32Array;
  /** Of each token under the distribution it was drawn from (penalties, bias, temperature, filters, renormalised). */
  logprob: Float32Array;
  /** Of each token at T = 1, unfiltered, from the logits as they were. */
  rawLogprob: Float32Array;
  finish: FinishReason;
}

export interface GenerateResult {
  /** prompt-major: rows of prompt 0 first. */
  rows: GeneratedRow[];
  seconds: number;
  /** New tokens in all. */
  tokens: number;
  /** Memory that it held for as long as it took, however many rows there were. */
  heldBytes: number;
}

/** Tokens that appeared since the last progress call: parallel arrays. */
export interface GenerateProgress {
  row: Int32Array;
  id: Int32Array;
  /** Rows finished so far. */
  finished: number;
}

export interface ScoreRequest {
  model: ModelId;
  adapter: AdapterId | null;
  rows: Rows;
  /** Logits are divided by it before the softmax. Default 1. */
  temperature?: number;
  /** Default true. */
  logp?: boolean;
  entropy?: boolean;
  /** Of the scalar head of the adapter, else of the model; refused where neither has one. */
  value?: boolean;
  /** Of the scalar head too, once a row's last token is read. */
  score?: boolean;
  /** Padded tokens forwarded at once at most. */
  microTokens?: number;
}

export interface ScoreResult {
  /** [T]; empty where it was not asked for. */
  logp: Float32Array;
  /** [T], in nats. */
  entropy?: Float32Array;
  /** [T] before each target token. */
  value?: Float32Array;
  /** [N] */
  score?: Float32Array;
  seconds: number;
}

export interface LogitsRequest {
  model: ModelId;
  adapter: AdapterId | null;
  rows: Rows;
  /** 'all': every position, [sum(lengths), V]; 'last': [N, V]. For tests and export checks. */
  positions: 'all' | 'last';
}

/**
 * An aborted call rejects with `cancelled` and has changed nothing; one exception: a generation that was
 * running resolves with what it has, its unfinished rows marked 'cancelled'.
 */
export interface Engine {
  readonly device: Device;
  /** How many of them work together; prompts and rows are dealt, and memory is each one's. */
  readonly devices: number;
  /** At once, beside a running job. */
  stats(): Promise<EngineStats>;
  /** Waits for what is under way, then releases the buffer cache (between roles). */
  clearCache(): Promise<void>;
  resetPeak(): Promise<void>;

  /**
   * A folder with config.json and safetensors (floats, or quantised as mlx-lm writes them), or one .gguf file.
   * Headers are validated first.
   */
  loadModel(path: string, options?: LoadOptions): Promise<ModelInfo>;
  /** A new model with seeded random weights from a config.json's text (normal, std initializer_range). */
  initModel(configJson: string, options: { seed: number; dtype?: Dtype }): Promise<ModelInfo>;
  /** config.json and model.safetensors, as transformers names them. */
  saveModel(model: ModelId, dir: string, options?: { dtype?: Dtype }): Promise<void>;
  unloadModel(model: ModelId): Promise<void>;

  /**
   * Writes a base with an adapter merged into it in f32, one tensor in memory at a time. Nothing that is loaded takes
   * part. A folder gets config.json and safetensors (tokenizer and README are the caller's).
   */
  exportModel(request: ExportModelRequest, hooks?: { signal?: AbortSignal }): Promise<void>;

  createAdapter(model: ModelId, spec: LoraSpec): Promise<AdapterInfo>;
  /** A PEFT folder: adapter_config.json and adapter_model.safetensors. */
  loadAdapter(model: ModelId, dir: string): Promise<AdapterInfo>;
  /** adapter_model.safetensors alone, f32, PEFT's keys. The caller writes the config and README. */
  saveAdapter(adapter: AdapterId, file: string): Promise<void>;
  /** max |B| by module: 0 means that the adapter does nothing there. A scalar head is `score`, with itself as A and B. */
  adapterNorms(adapter: AdapterId): Promise<{ name: string; maxA: number; maxB: number }[]>;
  unloadAdapter(adapter: AdapterId): Promise<void>;

  generate(
    request: GenerateRequest,
    hooks?: { onProgress?: (p: GenerateProgress) => void; signal?: AbortSignal },
  ): Promise<GenerateResult>;
  score(request: ScoreRequest, hooks?: { signal?: AbortSignal }): Promise<ScoreResult>;
  logits(request: LogitsRequest): Promise<Float32Array>;

  createOptimizer(trainable: Trainable, spec: OptimizerSpec): Promise<OptimizerId>;
  /** States and number of updates, one safetensors file. `non_finite` where one is not: nothing is written then. */
  saveOptimizer(optimizer: OptimizerId, file: string): Promise<void>;
  loadOptimizer(optimizer: OptimizerId, file: string): Promise<void>;
  freeOptimizer(optimizer: OptimizerId): Promise<void>;
  step(request: StepRequest, hooks?: { signal?: AbortSignal }): Promise<StepResult>;
  /** Loss program alone, on given numbers: conformance and users' own algorithms. */
  evaluateProgram(request: ProgramRequest): Promise<ProgramResult>;

  /** Cancels what runs and waits, frees everything, ends the thread. */
  close(): Promise<void>;
}

export interface EngineModule {
  /** Version of MLX the addon was built with, e.g. "0.32.4". */
  mlxVersion: string;
  devices(): DeviceInfo[];
  createEngine(options: EngineOptions): Engine;
  /** @throws EngineError where devices are named that are not there, or twice */
  checkDevices(device: Device, devices: readonly number[]): void;
  /**
   * One engine over several devices, a process each: prompts and rows are dealt, groups stay whole, and a step's
   * gradients are summed. Results are those of one device, but for the order that sums are made in.
   * @throws EngineError where a device is not there or does not start
   */
  createRanks(options: RankOptions): Promise<Engine>;
  /**
   * Judges a folder or a .gguf file as loadModel would, from its configuration and headers alone: no weights, no
   * device. Throws `unsupported_model` or `invalid_file` with the reason. What only the weights tell (NaN, a tied
   * head that differs) is left to loadModel.
   */
  checkModel(path: string): ModelFacts;
  /** Metadata and tensor list of a GGUF file, validated, without loading weights. */
  readGguf(file: string): GgufContents;
  /** Validated safetensors header. */
  readSafetensorsHeader(file: string): Record<string, { dtype: string; shape: number[]; bytes: number }>;
}
