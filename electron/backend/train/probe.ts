import { ROWS_AT_ONCE, type Engine, type ModelInfo, type OptimizerId } from '../../../native/face';
import { LORA_TARGETS, type CommonParams, type Needs } from '../../../shared/algorithms';
import type { LossProgram } from '../../../shared/program';
import { buildBatch, lossTokens, type TrainRow } from './batch';
import { pairRows, ratedRows } from './gather-rated';
import { exampleRows } from './gathered';
import type { ExampleRow, PromptRow, RowList } from '../datasets';
import type { RunData, UsableAlgorithm, Weights } from './job';
import { optimizerSpec } from './optimizer-spec';
import { sampledTrainRow } from './train-row';

/** What a model costs on this machine, measured with the engine; scales to other shapes of a run. */
export interface Rates {
  /** Seconds of one decoding step: fixed, and for each row. */
  decodeFixed: number;
  decodePerRow: number;
  /** Seconds to read a prompt, per token. */
  prefillPerToken: number;
  /** New tokens of an answer: mean, the longest of a step, and what was allowed. 0 for examples. */
  meanLength: number;
  longest: number;
  limit: number;
  /** False where answers were cut off by the probe's time: lengths are then upper bounds. */
  complete: boolean;
  /** Share of a step's rows that is trained; cut-off answers, say, may not be. */
  trainedShare: number;
  /** Seconds of forward and backward, per token. */
  trainPerToken: number;
  /** Bytes above the resident ones: while sampling per row and token, while training per padded token. */
  samplingPerToken: number;
  trainingPerToken: number;
  /** Parameters of an adapter of rank 1; 0 where none is trained. */
  adapterPerRank: number;
}

export interface ProbeRequest {
  engine: Engine;
  model: ModelInfo;
  algorithm: UsableAlgorithm;
  params: CommonParams & Record<string, unknown>;
  needs: Needs;
  stopIds: Int32Array;
  data: RunData;
}

/** Whether a measure holds for answers of a length: what was cut off might have gone on. */
export const covers = ({ limit, longest }: Rates, { maxNewTokens = 0 }: Needs): boolean =>
  maxNewTokens <= limit || longest < limit;

const SAMPLING_BUDGET_MS = 30_000;
/** After a first step that took longer than this, the second is of fewer rows. */
const SLOW_STEP_SECONDS = 2;
const TRAIN_TOKENS = 4096;

/** Takes a step's measure: about the time of two steps, 30 seconds of sampling at most. Leaves nothing behind. */
export async function probe(request: ProbeRequest, signal: AbortSignal): Promise<Rates> {
  const { engine, model, params } = request;
  // at rate 0 an update moves nothing: a whole model can be measured as it stands
  const adapter =
    params.method === 'full'
      ? null
      : await engine.createAdapter(model.id, {
          rank: params.loraRank,
          alpha: params.loraAlpha,
          targetModules: LORA_TARGETS[params.loraTargets],
          rslora: params.rsLora,
          seed: 0,
        });
  const weights = { model: model.id, adapter: adapter?.id ?? null };
  let optimizer: OptimizerId | null = null;
  try {
    optimizer = await engine.createOptimizer(
      adapter ? { kind: 'adapter', adapter: adapter.id } : { kind: 'full', model: model.id },
      optimizerSpec({ ...params, weightDecay: 0 }),
    );
    const sampled = request.needs.data === 'rollouts' ? await sample(request, weights, signal) : null;
    const rows = sampled?.rows ?? datasetRows(request.data);
    const trained = await trainSome(request, optimizer, rows, signal);
    return {
      ...(sampled?.rates ?? noSampling),
      ...trained,
      adapterPerRank: adapter ? adapter.parameters / params.loraRank : 0,
    };
  } finally {
    if (optimizer !== null) await engine.freeOptimizer(optimizer);
    if (adapter) await engine.unloadAdapter(adapter.id);
  }
}

const noSampling = {
  decodeFixed: 0,
  decodePerRow: 0,
  prefillPerToken: 0,
  meanLength: 0,
  longest: 0,
  limit: 0,
  complete: true,
  trainedShare: 1,
  samplingPerToken: 0,
};

async function sample(request: ProbeRequest, weights: Weights, signal: AbortSignal) {
  const { engine, needs } = request;
  const prompts = firstRows(request.data.rows as RowList<PromptRow>, needs.prompts);
  const generate = async (some: PromptRow[], maxNewTokens: number, budget: AbortSignal) => {
    const start = performance.now();
    const { rows } = await engine.generate(
      {
        ...weights,
        prompts: some.map((prompt) => prompt.ids),
        samplesPerPrompt: needs.groupSize,
        maxNewTokens,
        temperature: needs.temperature ?? 1,
        stopIds: request.stopIds,
        seed: 1,
      },
      { signal: budget },
    );
    return { rows, seconds: (performance.now() - start) / 1000 };
  };
  const promptTokens = prompts.reduce((sum, prompt) => sum + prompt.ids.length, 0);
  await generate(prompts.slice(0, 1), 2, signal); // kernels and caches warm
  const prefill = await generate(prompts, 1, signal);
  const prefillPerToken = prefill.seconds / promptTokens;
  const few = await generate(prompts.slice(0, 1), 8, signal);

  await engine.resetPeak();
  const before = (await engine.stats()).activeBytes;
  const budget = AbortSignal.any([signal, AbortSignal.timeout(SAMPLING_BUDGET_MS)]);
  const full = await generate(prompts, needs.maxNewTokens ?? 512, budget);
  signal.throwIfAborted();
  const peak = (await engine.stats()).peakBytes;

  const lengths = full.rows.map((row) => row.ids.length);
  const steps = Math.max(1, ...lengths);
  const tokens = lengths.reduce((sum, length) => sum + length, 0);
  // two lines through two measures: time = steps * fixed + tokens * perRow
  const fewSteps = Math.max(1, ...few.rows.map((row) => row.ids.length));
  const fewTokens = few.rows.reduce((sum, row) => sum + row.ids.length, 0);
  const fewSeconds = Math.max(1e-6, few.seconds - prefillPerToken * prompts[0]!.ids.length);
  const fullSeconds = Math.max(1e-6, full.seconds - prefill.seconds);
  const determinant = steps * fewTokens - fewSteps * tokens;
  const solved = determinant === 0 ? 0 : (steps * fewSeconds - fewSteps * fullSeconds) / determinant;
  const decodePerRow = Math.min(fullSeconds / tokens, Math.max(0, solved));
  const complete = full.rows.every((row) => row.finish !== 'cancelled');
  // rewards of either kind in each group: which rows are trained then is the algorithm's own answer
  const { use, learns, advantage } = await request.algorithm.advantages!(
    {
      reward: full.rows.map((_, k) => k % 2),
      group: full.rows.map((row) => row.prompt),
      truncated: full.rows.map((row) => row.finish === 'length'),
      length: lengths,
      samplerLogp: full.rows.map((row) => row.logprob),
      refLogp: full.rows.map((row) => row.logprob),
      value: full.rows.map((row) => new Float32Array(row.ids.length)),
    },
    request.params,
  );
  const limit = needs.maxNewTokens ?? 512;
  return {
    rates: {
      decodeFixed: Math.max(0, fullSeconds - tokens * decodePerRow) / steps,
      decodePerRow,
      prefillPerToken,
      meanLength: complete ? tokens / lengths.length : limit,
      longest: complete ? steps : limit,
      limit,
      complete,
      trainedShare: use.filter((u) => u === 'train').length / use.length,
      samplingPerToken:
        Math.max(0, peak - before) /
        (Math.min(lengths.length, ROWS_AT_ONCE) * (promptTokens / prompts.length + steps)),
    },
    rows: full.rows.map((row, k): TrainRow => {
      const prompt = prompts[row.prompt]!.ids;
      // what the budget cut off is filled up, so that training is measured at its real length
      const missing = row.finish === 'cancelled' ? Math.max(0, limit - row.ids.length) : 0;
      const filled = new Int32Array(row.ids.length + missing).fill(prompt[0]!);
      filled.set(row.ids);
      const sampled = { prompt, ids: filled, logprob: row.logprob };
      return sampledTrainRow(sampled, {
        group: row.prompt,
        use: use[k] === 'train' ? 'train' : 'skip',
        learns: learns[k]!,
        advantage: advantage[k]!,
      });
    }),
  };
}

/** The first rows of a dataset as a step takes them. */
function datasetRows(data: RunData): TrainRow[] {
  if (data.kind === 'pairs') return pairRows(firstRows(data.rows));
  if (data.kind === 'rated') return ratedRows(firstRows(data.rows));
  return exampleRows(firstRows(data.rows as RowList<ExampleRow>));
}

const firstRows = <Row>(rows: RowList<Row>, count = Infinity): Row[] =>
  Array.from({ length: Math.min(rows.length, count) }, (_, k) => rows.at(k)!);

/** What costs the same whatever it is: numbers of other models, say, that a step would have to compute first. */
function withStandIns(rows: TrainRow[], { inputs }: LossProgram): TrainRow[] {
  return rows.map((row) => {
    const values = { ...row.values };
    for (const { name, shape, from } of inputs) {
      if (from !== 'data' || name in values) continue;
      values[name] = shape === 'S' ? 0 : new Float32Array(row.ids.length - 1);
    }
    return { ...row, values };
  });
}

async function trainSome(
  request: ProbeRequest,
  optimizer: OptimizerId,
  all: TrainRow[],
  signal: AbortSignal,
) {
  const { engine, algorithm, params, needs } = request;
  const program = algorithm.losses(params).policy;
  const rows: TrainRow[] = [];
  let longest = 0;
  // where none is trained, all are measured all the same
  const trained = all.filter((row) => row.use === 'train');
  const some = trained.length > 0 ? trained : all.map((r) => ({ ...r, use: 'train' as const }));
  const unit = request.data.kind === 'pairs' ? 2 : 1;
  for (let k = 0; k + unit <= some.length; k += unit) {
    const next = some.slice(k, k + unit);
    longest = Math.max(longest, ...next.map((row) => row.ids.length));
    if (rows.length > 0 && (rows.length + unit) * longest > TRAIN_TOKENS) break;
    rows.push(...next);
  }
  const padded = rows.length * Math.max(...rows.map((row) => row.ids.length));
  const step = (taken: TrainRow[]) =>
    engine.step(
      {
        optimizer,
        ...buildBatch(withStandIns(taken, program), program, lossTokens(taken), params),
        program: JSON.stringify(program),
        // whoever the teacher is, the student stands in for it
        ...(needs.roles.includes('teacher') && { teacher: { model: request.model.id, adapter: null } }),
        temperature: needs.temperature ?? 1,
        learningRate: 0,
        maxGradNorm: null,
        microTokens: TRAIN_TOKENS * 2,
        recompute: params.recompute,
      },
      { signal },
    );
  await engine.resetPeak();
  const before = (await engine.stats()).activeBytes;
  const cold = await step(rows);
  const { peakBytes } = await engine.stats();
  // the first step pays for memory that later ones find; where it was slow, a part of its rows tells the rest
  const part = cold.seconds > SLOW_STEP_SECONDS ? unit * Math.ceil(rows.length / unit / 4) : rows.length;
  const warm = await step(rows.slice(0, part));
  const perToken = ({ seconds, tokens }: { seconds: number; tokens: number }) => seconds / tokens;
  return {
    trainPerToken: Math.min(perToken(cold), perToken(warm)),
    trainingPerToken: Math.max(0, peakBytes - before) / padded,
  };
}
