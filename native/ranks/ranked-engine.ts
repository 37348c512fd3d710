import {
  EngineError,
  type Device,
  type Engine,
  type EngineStats,
  type GenerateProgress,
  type GenerateRequest,
  type GenerateResult,
  type LogitsRequest,
  type ScoreRequest,
  type ScoreResult,
  type StepResult,
} from '../face';
import {
  dealPrompts,
  dealRows,
  joinGenerated,
  joinLogits,
  joinProgress,
  joinScores,
  somePrompts,
  someRows,
} from './deal';
import type { RankGroup } from './group';

/**
 * One engine over several ranks. What changes models, adapters and optimisers all of them do; what is written, the
 * first writes; prompts and rows are dealt; a step they make together.
 */
export function rankedEngine(device: Device, ranks: RankGroup): Engine {
  const all = <T>(...[verb, args, signal]: Parameters<RankGroup['all']>) =>
    ranks.all(verb, args, signal).then(([first]) => first as T);
  const first = <T>(...[verb, args, signal]: Parameters<RankGroup['first']>) =>
    ranks.first(verb, args, signal) as Promise<T>;

  /** What each rank makes of its share of a request. */
  async function dealt<Result>(
    verb: 'generate' | 'score' | 'logits',
    request: Dealt,
    shares: readonly number[][],
    some: (request: never, items: readonly number[]) => Dealt,
    signal?: AbortSignal,
    listeners?: ((p: GenerateProgress) => void)[],
  ): Promise<{ items: readonly number[]; result: Result }[]> {
    const whole = shares.filter((share) => share.length > 0).length <= 1;
    const own = (rank: number) => (whole ? request : some(request as never, shares[rank]!));
    try {
      const results = await ranks.each(
        verb,
        // of nothing too, one is asked: it says what is wrong with that
        (rank) => (shares[rank]!.length > 0 || (whole && rank === 0) ? [own(rank)] : null),
        signal,
        listeners && ((rank: number, p: GenerateProgress) => listeners[rank]!(p)),
      );
      return results.flatMap((result, rank) =>
        result === null ? [] : [{ items: shares[rank]!, result: result as Result }],
      );
    } catch (error) {
      // a place that it names is one of the share's
      if (!whole && error instanceof EngineError && error.code === 'invalid_argument')
        await ranks.first(verb, [request]);
      throw error;
    }
  }

  return {
    device,
    devices: ranks.size,
    stats: async () => joinStats((await ranks.each('stats', () => [])) as EngineStats[]),
    clearCache: () => all('clearCache', []),
    resetPeak: () => all('resetPeak', []),

    loadModel: (path, options) => all('loadModel', [path, options]),
    initModel: (config, options) => all('initModel', [config, options]),
    saveModel: (model, dir, options) => first('saveModel', [model, dir, options]),
    unloadModel: (model) => all('unloadModel', [model]),
    exportModel: (request, hooks) => first('exportModel', [request], hooks?.signal),

    createAdapter: (model, spec) => all('createAdapter', [model, spec]),
    loadAdapter: (model, dir) => all('loadAdapter', [model, dir]),
    saveAdapter: (adapter, file) => first('saveAdapter', [adapter, file]),
    adapterNorms: (adapter) => first('adapterNorms', [adapter]),
    unloadAdapter: (adapter) => all('unloadAdapter', [adapter]),

    async generate(request, hooks) {
      const shares = dealPrompts(request, ranks.size);
      const { samplesPerPrompt: samples } = request;
      const listeners = hooks?.onProgress && joinProgress(shares, samples, hooks.onProgress);
      const parts = await dealt<GenerateResult>(
        'generate',
        request,
        shares,
        somePrompts,
        hooks?.signal,
        listeners,
      );
      return joinGenerated(parts, samples);
    },
    async score(request, hooks) {
      const shares = dealRows(request.rows, ranks.size);
      const parts = await dealt<ScoreResult>('score', request, shares, ofRows, hooks?.signal);
      return joinScores(parts, request.rows);
    },
    async logits(request) {
      const parts = await dealt<Float32Array>('logits', request, dealRows(request.rows, ranks.size), ofRows);
      return joinLogits(parts, request);
    },

    createOptimizer: (trainable, spec) => all('createOptimizer', [trainable, spec]),
    saveOptimizer: (optimizer, file) => first('saveOptimizer', [optimizer, file]),
    loadOptimizer: (optimizer, file) => all('loadOptimizer', [optimizer, file]),
    freeOptimizer: (optimizer) => all('freeOptimizer', [optimizer]),
    async step(request, hooks) {
      const results = (await ranks.all('step', [request], hooks?.signal)) as StepResult[];
      const most = (of: (result: StepResult) => number) => Math.max(...results.map(of));
      return {
        ...results[0]!,
        seconds: most(({ seconds }) => seconds),
        peakBytes: most(({ peakBytes }) => peakBytes),
        gradientPeakBytes: most(({ gradientPeakBytes }) => gradientPeakBytes),
      };
    },
    evaluateProgram: (request) => first('evaluateProgram', [request]),

    close: () => ranks.close(),
  };
}

type Dealt = GenerateRequest | ScoreRequest | LogitsRequest;

const ofRows = (request: ScoreRequest | LogitsRequest, items: readonly number[]) => ({
  ...request,
  rows: someRows(request.rows, items),
});

/** Memory is of a device: what is in use on the fullest, and the least that one may use. */
function joinStats(stats: readonly EngineStats[]): EngineStats {
  const most = (of: (s: EngineStats) => number) => Math.max(...stats.map(of));
  return {
    ...stats[0]!,
    activeBytes: most((s) => s.activeBytes),
    peakBytes: most((s) => s.peakBytes),
    cacheBytes: most((s) => s.cacheBytes),
    memoryLimitBytes: Math.min(...stats.map((s) => s.memoryLimitBytes)),
    jobs: most((s) => s.jobs),
  };
}
