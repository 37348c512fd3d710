/** Part of the engine's face (face.ts): devices, errors, models, adapters, rows of tokens. */

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
  /** Those of its kind, by number; the first is the one described. None where it is not available. */
  units: DeviceUnit[];
}

/** One of several devices of a kind: a GPU. */
export interface DeviceUnit {
  description: string;
  /** 0 where unknown. */
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
  /** Kernels that are compiled at run time (CUDA) are kept there from one start to the next; default: nowhere. */
  kernelFolder?: string;
  /** Everything runs on the kernels' plain-op twins: slower; for telling a kernel's fault from another. */
  plainOps?: boolean;
}

/** A process that drives one of several devices, started by the backend's host. */
export interface RankProcess {
  port: RankPort;
  kill(signal: 'SIGKILL'): void;
  /** Called once, also when it has ended already. `words`: the end of what it wrote to stderr. */
  onExit(listener: (code: number | null, signal: string | null, words: string) => void): void;
}

/** A port that keeps typed arrays, as shared/rpc has them. */
export interface RankPort {
  post(message: unknown): void | Promise<void>;
  onMessage(listener: (message: unknown) => void): void;
}

/** An engine over several devices of a kind. Limits are each device's. */
export interface RankOptions extends EngineOptions {
  /** Numbers of DeviceInfo.units; on the CPU each is a process with its share of the threads. */
  devices: readonly number[];
  /** Starts a process that calls `serveRank` (index.ts). */
  spawn: () => Promise<RankProcess>;
  /** A device's process has ended, and with it the engine: every call rejects with this. */
  onEnd: (error: EngineError, gone: Promise<void>) => void;
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
  /** Why `exportModel` does not write such a model as GGUF; null: it does. */
  ggufRefusal: { message: string; hint: string } | null;
  /** What the checkpoint holds beside the model, for people; empty: nothing. E.g. "the vision tower (model.visual.*)". */
  leftOut: string[];
  /**
   * A reward model: a sequence-classification checkpoint with one label. It has a scalar head and no head over the
   * vocabulary, so it scores texts and cannot write them.
   */
  scalarHead: boolean;
  /** Layers are mixtures of experts: they are not quantised, and DoRA is not for experts. */
  mixture: boolean;
  /** Its experts are chosen by a softmax, which `routerAux` is defined for (shared/program). */
  softmaxRouters: boolean;
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
