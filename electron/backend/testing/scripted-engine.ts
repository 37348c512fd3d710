import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  EngineError,
  type AdapterId,
  type AdapterInfo,
  type Engine,
  type GeneratedRow,
  type ModelId,
  type ModelInfo,
  type OptimizerId,
} from '../../../native/face';

const VOCABULARY = 128;
const STOP = 10; // line feed
const PARAMETERS = 4;

export const scriptedModel: ModelInfo = {
  id: 1 as ModelId,
  family: 'scripted',
  parameters: 1000,
  weightBytes: 4000,
  dtype: 'f32',
  vocabularySize: VOCABULARY,
  hiddenSize: 8,
  layers: 1,
  contextLength: 256,
  tied: true,
  ggufRefusal: null,
  leftOut: [],
  scalarHead: false,
  mixture: false,
  softmaxRouters: false,
  packs: true,
  linearModules: ['model.layers.0.self_attn.q_proj'],
};

/** Text as character codes. */
export const scriptedText = {
  stopIds: Int32Array.of(STOP),
  encode: (text: string) => Int32Array.from(text, (c) => c.charCodeAt(0)),
  decode: (ids: Int32Array) => Promise.resolve(String.fromCharCode(...ids.filter((id) => id !== STOP))),
};

export interface ScriptedOptions {
  /** Awaited before each generation: a test holds a run there. */
  beforeGenerate?: (call: number) => Promise<void> | void;
  /** In which order answers end; default: as they are asked. */
  order?: (answers: number) => number[];
  /** Awaited in each generation, once the first of its answers has ended. */
  duringGenerate?: (call: number) => Promise<void> | void;
  beforeStep?: (call: number) => Promise<void> | void;
  /** Calls of `step` (from 0) that report a gradient that is not finite. */
  nonFiniteSteps?: number[];
}

export interface ScriptedEngine extends Engine {
  readonly calls: { generate: number; step: number };
  weights(adapter: AdapterId): Float64Array;
}

/**
 * Stands in for the engine in tests of the loop and the wire. An adapter is four numbers; the first is the skill:
 * asked "a+b", the answer is right with probability sigmoid(skill). Draws are functions of (seed, rollout,
 * skill); a step moves all four along the advantages with momentum. Everything is deterministic.
 */
export function scriptedEngine(options: ScriptedOptions = {}): ScriptedEngine {
  const adapters = new Map<number, Float64Array>();
  const optimizers = new Map<number, { adapter: number; moments: Float64Array; steps: number }>();
  const calls = { generate: 0, step: 0 };
  let next = 1;
  let open = true;

  function weights(adapter: AdapterId | null): Float64Array {
    if (adapter === null) return new Float64Array(PARAMETERS);
    const found = adapters.get(adapter);
    if (!found) throw new EngineError('not_found', `no adapter ${adapter}`);
    return found;
  }
  function add(values: Float64Array): AdapterInfo {
    const id = next++ as AdapterId;
    adapters.set(id, values);
    return { id, model: scriptedModel.id, parameters: PARAMETERS, modules: [], saved: [], scalarHead: false };
  }
  function uniform(...key: (number | string)[]): number {
    return createHash('sha256').update(key.join(':')).digest().readUInt32LE() / 2 ** 32;
  }
  function rightAnswer(prompt: Int32Array): string {
    const [a = 0, b = 0] = String.fromCharCode(...prompt)
      .split('+')
      .map((part) => Number.parseInt(part, 10));
    return String(a + b);
  }
  const isRight = (ids: Int32Array): boolean => {
    const text = String.fromCharCode(...ids);
    const [sum = '', answer = ''] = text.split('=');
    return answer.trim() === rightAnswer(scriptedText.encode(sum));
  };

  return {
    device: 'cpu',
    devices: 1,
    calls,
    weights: (adapter) => weights(adapter).slice(),
    stats: () =>
      Promise.resolve({
        device: 'cpu',
        activeBytes: 4000,
        peakBytes: 5000,
        cacheBytes: 0,
        memoryLimitBytes: 2 ** 30,
        models: 1,
        adapters: adapters.size,
        jobs: 0,
      }),
    clearCache: async () => undefined,
    resetPeak: async () => undefined,
    loadModel: async () => scriptedModel,
    initModel: async () => scriptedModel,
    saveModel: async () => undefined,
    unloadModel: async () => undefined,
    exportModel: () => Promise.reject(new EngineError('invalid_argument', 'there is no model to export')),
    createAdapter: async (_model, spec) =>
      add(
        Float64Array.from({ length: PARAMETERS }, (_, k) => (k === 0 ? -1 : uniform('lora', spec.seed, k))),
      ),
    async loadAdapter(_model, dir) {
      const bytes = readFileSync(join(dir, 'adapter_model.safetensors'));
      return add(Float64Array.from(JSON.parse(bytes.toString()) as number[]));
    },
    async saveAdapter(adapter, file) {
      writeFileSync(file, JSON.stringify([...weights(adapter)]));
    },
    adapterNorms: async (adapter) => [{ name: 'q_proj', maxA: 1, maxB: Math.abs(weights(adapter)[0]! + 1) }],
    async unloadAdapter(adapter) {
      adapters.delete(adapter);
    },
    async generate(request, hooks) {
      // counted also where nobody waits
      const call = calls.generate++;
      await options.beforeGenerate?.(call);
      if (!open || hooks?.signal?.aborted) throw new EngineError('cancelled', 'cancelled');
      const skill = weights(request.adapter)[0]!;
      const rows: GeneratedRow[] = request.prompts.flatMap((prompt, p) =>
        Array.from({ length: request.samplesPerPrompt }, (_, k): GeneratedRow => {
          const rollout = p * request.samplesPerPrompt + k;
          const draw = request.temperature === 0 ? 0.5 : uniform(request.seed, rollout);
          const right = draw < 1 / (1 + Math.exp(-skill));
          const text = right
            ? rightAnswer(prompt)
            : `${Math.floor(uniform(request.seed, rollout, 'x') * 20)}?`;
          const all = scriptedText.encode(`${text}\n`);
          const ids = all.slice(0, request.maxNewTokens);
          const logprob = Float32Array.from(ids, (_id, t) => -uniform(request.seed, rollout, t));
          return {
            prompt: p,
            ids,
            logprob,
            rawLogprob: logprob,
            finish: ids.length < all.length ? 'length' : 'stop',
          };
        }),
      );
      const tokens = rows.reduce((sum, row) => sum + row.ids.length, 0);
      const order = options.order?.(rows.length) ?? rows.map((_, k) => k);
      for (const [finished, k] of order.entries()) {
        if (finished === 1) await options.duringGenerate?.(call);
        if (hooks?.signal?.aborted) {
          for (const left of order.slice(finished)) rows[left] = { ...rows[left]!, finish: 'cancelled' };
          break;
        }
        const { ids } = rows[k]!;
        hooks?.onProgress?.({ row: new Int32Array(ids.length).fill(k), id: ids, finished: finished + 1 });
      }
      return { rows, seconds: 0.01, tokens, heldBytes: 0 };
    },
    async score(request) {
      const targets = request.rows.lengths.reduce((sum, n) => sum + n - 1, 0);
      const skill = weights(request.adapter)[0]!;
      return {
        seconds: 0.001,
        logp: new Float32Array(targets).fill(-1 / (1 + Math.exp(skill))),
        ...(request.value && { value: new Float32Array(targets).fill(weights(request.adapter)[1]!) }),
      };
    },
    async logits(request) {
      const own = weights(request.adapter);
      const positions = request.positions === 'last' ? request.rows.lengths.length : request.rows.ids.length;
      return Float32Array.from(
        { length: positions * VOCABULARY },
        (_, k) => own[k % PARAMETERS]! * ((k % 7) + 1),
      );
    },
    async createOptimizer(trainable) {
      if (trainable.kind !== 'adapter') throw new EngineError('invalid_argument', 'adapters only');
      const id = next++ as OptimizerId;
      optimizers.set(id, { adapter: trainable.adapter, moments: new Float64Array(PARAMETERS), steps: 0 });
      return id;
    },
    async saveOptimizer(id, file) {
      const { moments, steps } = optimizers.get(id)!;
      writeFileSync(file, JSON.stringify({ moments: [...moments], steps }));
    },
    async loadOptimizer(id, file) {
      const saved = JSON.parse(readFileSync(file, 'utf8')) as { moments: number[]; steps: number };
      const own = optimizers.get(id)!;
      own.moments.set(saved.moments);
      own.steps = saved.steps;
    },
    async freeOptimizer(id) {
      optimizers.delete(id);
    },
    async step(request) {
      const call = calls.step++;
      await options.beforeStep?.(call);
      const { moments, adapter } = optimizers.get(request.optimizer)!;
      const own = adapters.get(adapter)!;
      const nonFinite = options.nonFiniteSteps?.includes(call) ?? false;
      const { ids, lengths } = request.rows;
      const advantage = request.inputs['advantage'];
      let gradient = 0;
      let offset = 0;
      lengths.forEach((length, row) => {
        const sign = isRight(ids.subarray(offset, offset + length)) ? 1 : -1;
        if (!request.skip?.[row]) gradient += (advantage?.[row] ?? 1) * sign;
        offset += length;
      });
      gradient /= Math.max(1, lengths.length);
      if (!nonFinite) {
        for (let k = 0; k < PARAMETERS; k++) {
          moments[k] = 0.9 * moments[k]! + gradient / (k + 1);
          own[k] = own[k]! + request.learningRate * moments[k]!;
        }
      }
      return {
        loss: nonFinite ? NaN : -gradient,
        metrics: { 'policy/entropy': 1, 'policy/sampler_mismatch': 0 },
        gradNorm: Math.abs(gradient),
        updated: !nonFinite,
        seconds: 0.01,
        tokens: ids.length,
        peakBytes: 5000,
        gradientPeakBytes: 5000,
      };
    },
    evaluateProgram: () => Promise.reject(new EngineError('internal', 'not scripted')),
    async close() {
      open = false;
    },
  };
}
