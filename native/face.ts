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

export type Device = 'cpu' | 'cuda' | 'metal';

/** Storage and compute type of the base weights. On the CPU only `f32` is offered. */
export type Dtype = 'f32' | 'bf16' | 'f16';

export type EngineErrorCode =
  | 'invalid_argument' // a request that makes no sense; `message` names the field
  | 'device_unavailable' // the chosen device is not here; `message` lists what is
  | 'invalid_file' // a malformed or hostile file; `message` names file, place and rule
  | 'unsupported_model' // architecture or feature of a checkpoint that the engine does not run
  | 'out_of_memory' // a limit was reached; says what was wanted and what the limit is
  | 'cancelled'
  | 'not_found' // an id that does not exist (any more)
  | 'io' // the file system refused: message has path and errno
  | 'non_finite' // loss or gradient not finite where that cannot be skipped
  | 'internal';

export class EngineError extends Error {
  override name = 'EngineError';
  constructor(
    readonly code: EngineErrorCode,
    message: string,
    readonly hint?: string,
  ) {
    super(message);
  }
}

declare const modelId: unique symbol;
declare const adapterId: unique symbol;
declare const optimizerId: unique symbol;
export type ModelId = number & { [modelId]: true };
export type AdapterId = number & { [adapterId]: true };
export type OptimizerId = number & { [optimizerId]: true };

export interface DeviceInfo {
  device: Device;
  available: boolean;
  /** "Apple M3 Max", "NVIDIA H200", "CPU, 8 threads"; or why it is not available. */
  description: string;
  /** Bytes of memory the device can use in all; 0 where unknown. */
  memoryBytes: number;
}

export interface EngineOptions {
  device: Device;
  /**
   * MLX memory limit in bytes; default: 75 % of the device's memory. Memory is counted for the whole process, and
   * MLX's own limits are the process's: the engine created last sets them for all.
   */
  memoryLimitBytes?: number;
  /** Limit of MLX's buffer cache in bytes, of the process too; default: a quarter of the memory limit, on the CPU 512 MiB at most. */
  cacheLimitBytes?: number;
  /** Everything runs on the kernels' plain-op twins: slower; for telling a kernel's fault from another. */
  plainOps?: boolean;
}

export interface EngineStats {
  device: Device;
  activeBytes: number;
  peakBytes: number;
  cacheBytes: number;
  memoryLimitBytes: number;
  models: number;
  adapters: number;
  /** Jobs waiting, the running one included. */
  jobs: number;
}

/** What configuration and headers say of a model that the engine runs. */
export interface ModelFacts {
  family: string;
  /** Parameters in all. */
  parameters: number;
  /** Rows of the embedding: every token id is below it. */
  vocabularySize: number;
  hiddenSize: number;
  layers: number;
  /** Positions the model was made for (max_position_embeddings). */
  contextLength: number;
  tied: boolean;
  /** What the checkpoint holds beside the model, for people; empty: nothing. E.g. "the vision tower (model.visual.*)". */
  leftOut: string[];
  /**
   * A reward model: a sequence-classification checkpoint with one label. It has a scalar head and no head over the
   * vocabulary, so it scores texts and cannot write them.
   */
  scalarHead: boolean;
  /** Layers are mixtures of experts: they are not quantised, and DoRA is not for experts. */
  mixture: boolean;
  /** Rows can be packed (StepRequest.packTokens); false where layers carry a state along the line. */
  packs: boolean;
  /** Form of the quantised weights, of a mixed model that of most of them; absent: floats. */
  quantization?: Quantization;
}

/** MLX's affine quantisation: bits a number, and how many numbers of a row share a scale and a bias. */
export interface Quantization {
  bits: number;
  groupSize: number;
}

export interface ModelInfo extends ModelFacts {
  id: ModelId;
  weightBytes: number;
  dtype: Dtype;
  /** Full names of linear modules a LoRA can attach to, e.g. `model.layers.0.self_attn.q_proj`. */
  linearModules: string[];
}

export interface LoadOptions {
  dtype?: Dtype;
  /**
   * Linear modules, embedding and head are quantised as they are read: bits 2, 3, 4, 5, 6 or 8; groups of 32, 64 or
   * 128, default 64 where it divides every row, else 32. Refused for a model that is stored quantised.
   */
  quantize?: { bits: number; groupSize?: number };
}

export interface ExportModelRequest {
  /** Path of the base, as loadModel takes it. */
  base: string;
  /** PEFT folder; null: the base alone. */
  adapter: string | null;
  /** An existing folder; for GGUF the file. */
  to: string;
  as:
    | { kind: 'safetensors'; dtype: Dtype }
    /** mlx-lm's form, bf16 where it is not quantised. */
    | { kind: 'mlx'; quantize?: { bits: number; groupSize?: number } }
    | { kind: 'gguf'; type: 'F32' | 'F16' | 'Q8_0'; metadata: GgufText };
}

/** Metadata of a tokenizer: text, whole numbers (u32), booleans, lists of text, lists of i32. */
export type GgufText = Record<string, string | number | boolean | string[] | Int32Array>;

export interface GgufContents {
  /** Metadata values by key; arrays as arrays; numbers as numbers, u64 above 2^53 as bigint. */
  metadata: Record<string, unknown>;
  tensors: { name: string; type: string; shape: number[] }[];
}

/** peft.LoraConfig's fields of the same meaning (peft 0.21.2). */
export interface LoraSpec {
  rank: number;
  alpha: number;
  /** Module name suffixes ("q_proj"), or one string: a regular expression for the full name, or "all-linear". */
  targetModules: string[] | string;
  rslora?: boolean;
  /** Rows keep the length of a trained vector (DoRA). */
  dora?: boolean;
  /** Modules that are trained and saved whole: 'lm_head', 'embed_tokens'. A tied head becomes one of its own. */
  modulesToSave?: string[];
  rankPattern?: Record<string, number>;
  alphaPattern?: Record<string, number>;
  layersToTransform?: number[];
  /** Seed of A's initial values (kaiming uniform, as PEFT); B starts at 0. */
  seed: number;
  /**
   * A linear head D -> 1 without bias over the final hidden state, f32, trained, saved and loaded with the LoRA as
   * PEFT's `score.weight`. It starts at 0, or as the model's own where that has one. Default: false.
   */
  scalarHead?: boolean;
}

export interface AdapterInfo {
  id: AdapterId;
  model: ModelId;
  parameters: number;
  /** Modules with their rank and effective scale. */
  modules: { name: string; rank: number; scale: number; dora: boolean }[];
  /** transformers' names of the modules that are saved whole. */
  saved: string[];
  scalarHead: boolean;
}

export interface Rows {
  /** All rows' tokens end to end. */
  ids: Int32Array;
  /** [N] */
  lengths: Int32Array;
}

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
}

export interface LogitsRequest {
  model: ModelId;
  adapter: AdapterId | null;
  rows: Rows;
  /** 'all': every position, [sum(lengths), V]; 'last': [N, V]. For tests and export checks. */
  positions: 'all' | 'last';
}

export type Trainable = { kind: 'adapter'; adapter: AdapterId } | { kind: 'full'; model: ModelId };

/** What every optimiser takes. */
interface Decay {
  /** Of matrices, decoupled where a kind does not say otherwise; */
  weightDecay: number;
  /** of norms, biases and embeddings too. Default false. An adapter's A and B are matrices. */
  decayAll?: boolean;
}

interface AdamWConstants {
  beta1: number;
  beta2: number;
  epsilon: number;
}

/**
 * How parameters move; native/src/train/rules/rule.h has each one's source.
 *
 *   adamw       torch.optim.AdamW, f32 states: 8 bytes a parameter
 *   adamw-8bit  the same with states in 8 bits (bitsandbytes' dynamic map, blocks of 256): 2 bytes. Parameters of
 *               fewer than 4,096 numbers keep f32 states.
 *   adam        torch.optim.Adam: `weightDecay` is part of the gradient (L2) instead of decoupled; 8 bytes
 *   adafactor   second moments by row and column: next to nothing. `relative` (default true): at most 1/sqrt(t) and
 *               times the parameter's RMS, as torch.optim.Adafactor; false: the rate as it stands.
 *   muon        for `full` only: matrices by orthogonalised momentum, all else (embedding, head, norms, biases) by
 *               AdamW; 4 bytes. `matchAdamW` (default true) scales its steps so that AdamW's rate suits; false is
 *               torch.optim.Muon's default.
 *   sgd         the gradient itself, or with momentum (torch.optim.SGD: `weightDecay` is part of the gradient)
 */
export type OptimizerSpec =
  | ({ kind: 'adamw' | 'adamw-8bit' | 'adam' } & AdamWConstants & Decay)
  | ({ kind: 'adafactor'; relative?: boolean } & Decay)
  | ({ kind: 'sgd'; momentum: number } & Decay)
  | ({ kind: 'muon'; momentum: number; matchAdamW?: boolean } & AdamWConstants & Decay);

export interface StepRequest {
  optimizer: OptimizerId;
  /** No rows, or all skipped: the gradient is zero and the optimiser still moves by its momentum. */
  rows: Rows;
  /** [N] trajectory of each row, 0..S-1; default: each row its own. */
  trajectories?: Int32Array;
  /** [S] group of each trajectory; default: all in group 0. Counted for the constant `groups`. */
  groups?: Int32Array;
  /**
   * [S] 1: the trajectory counts in the whole step's numbers (tokens, sequences, groups) but is not
   * forwarded: neither the loss nor a metric sees it. For what the caller knows to add nothing to the loss,
   * e.g. GRPO's group of equal rewards. Refused where the program's trajectories interact.
   */
  skip?: Uint8Array;
  /** JSON of a LossProgram (shared/program). */
  program: string;
  /** Every input the program names and the engine does not make: [T], [S], [S/n] or one number. */
  inputs: Record<string, Float32Array>;
  /** Whose distribution a divergence is taken from; its vocabulary must be the trained model's. */
  teacher?: { model: ModelId; adapter: AdapterId | null };
  /** Trainer's logits are divided by it. */
  temperature: number;
  learningRate: number;
  /** Clip the global gradient norm to it; null: no clipping. */
  maxGradNorm: number | null;
  /** Padded tokens forwarded and differentiated at once at most; changes memory, never the result. */
  microTokens: number;
  /**
   * Rows are packed, several on a line of so many tokens at most, each seeing itself alone; absent: a line each.
   * Changes speed, never the result. Models whose layers carry a state along the line take each row alone anyway.
   */
  packTokens?: number;
  /**
   * The backward makes each layer's activations again instead of keeping them: much less memory, about a third more
   * time, the same result. Default false.
   */
  recompute?: boolean;
  /** NEFTune: uniform noise in +-alpha / sqrt(L D) on the embeddings of a row of L tokens, by (seed, row). */
  embeddingNoise?: { alpha: number; seed: number };
}

export interface StepResult {
  loss: number;
  /** By the program's names; NaN where nothing had weight. */
  metrics: Record<string, number>;
  /** Global norm before clipping. */
  gradNorm: number;
  /** False where loss or gradient was not finite: nothing was changed. */
  updated: boolean;
  seconds: number;
  /** Tokens forwarded, without padding. */
  tokens: number;
  peakBytes: number;
}

export interface ProgramRequest {
  program: string;
  /** All inputs, the engine's (logp, entropy ...) too, given as numbers. */
  inputs: Record<string, Float32Array>;
  /** [N] targets of each row (lengths - 1). */
  targets: Int32Array;
  trajectories?: Int32Array;
  groups?: Int32Array;
  /** Names of inputs to differentiate the loss by. */
  gradients: string[];
}

export interface ProgramResult {
  loss: number;
  metrics: Record<string, number>;
  gradients: Record<string, Float32Array>;
}

/**
 * An aborted call rejects with `cancelled` and has changed nothing; one exception: a generation that was
 * running resolves with what it has, its unfinished rows marked 'cancelled'.
 */
export interface Engine {
  readonly device: Device;
  /** At once, beside a running job. */
  stats(): Promise<EngineStats>;
  /** Releases the buffer cache (between roles). */
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
