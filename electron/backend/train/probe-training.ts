import type { AdapterInfo, StepResult } from '../../../native/face';
import type { LossProgram } from '../../../shared/program';
import { buildBatch, lossTokens, type TrainRow } from './batch';
import { forwardOptions } from './learn';
import { packedLines, type MicroBatch } from './micro-batch';
import { optimizerSpec, STATE_BYTES } from './optimizer-spec';
import type { ProbeRequest } from './probe-request';
import { mostOnOne } from './share';
import { slopesOf, type MeasuredBytes, type UpdateBytes } from './update-bytes';

/** What an update of one role costs: seconds of forward and backward per token, and bytes above the resident ones. */
export interface UpdateRates {
  secondsPerToken: number;
  bytes: UpdateBytes;
}

/** A larger micro-batch that would take longer than this is not measured: the smaller ones tell the rest. */
const SLOW_STEP_SECONDS = 30;
/** One that takes less is timed twice. */
const QUICK_STEP_SECONDS = 2;
export const TRAIN_TOKENS = 4096;
/** Tokens of the step that pays for memory that later ones find, the optimiser's states among it. */
const FIRST_TOKENS = 16;

/**
 * Updates at rate 0 on rows that a step would train, of an adapter or (null) of the whole model: a quarter, half and
 * all of the micro-batch that the run would make, of 4,096 tokens at most. `before`: bytes in use before there was
 * anything to train.
 */
export async function trainSome(
  request: ProbeRequest,
  program: LossProgram,
  adapter: AdapterInfo | null,
  all: TrainRow[],
  before: number,
  signal: AbortSignal,
): Promise<UpdateRates> {
  const { engine, needs } = request;
  const held = before + heldBytes(request, adapter);
  const unit = unitOf(request);
  const some = trainable(all);
  const rows = packedLine(request) === null ? longestFirst(some, unit) : some;
  return withUpdates(request, program, adapter, signal, async (step) => {
    const few = cut(rows.slice(0, unit), FIRST_TOKENS);
    await step(few);
    // of so few tokens, what is there at the peak is the optimiser's
    const move = Math.max(0, (await step(few)).peakBytes - held);
    const target = targetOf(request, rows, unit);
    const measures: (MeasuredBytes & { rows: TrainRow[] })[] = [];
    let secondsPerToken = Infinity;
    for (const share of [1 / 4, 1 / 2, 1]) {
      const taken = part(rows, target, unit, share);
      const shape = shapeOf(taken, request);
      const last = measures.at(-1);
      if (last && shape.lines * shape.length <= last.lines * last.length) continue;
      const tokens = taken.reduce((sum, { ids }) => sum + ids.length, 0);
      if (last && measures.length > 1) {
        if (secondsPerToken * tokens > SLOW_STEP_SECONDS) break;
        const { activeBytes, memoryLimitBytes } = await engine.stats();
        if (activeBytes + 2 * last.bytes > memoryLimitBytes) break;
      }
      const { seconds, tokens: forwarded, gradientPeakBytes } = await step(taken);
      // the nearest to what the run takes at once: small micro-batches are faster on the CPU
      secondsPerToken = seconds / forwarded;
      measures.push({ ...shape, bytes: gradientPeakBytes - held, rows: taken });
    }
    const { rows: largest, ...measured } = measures.at(-1)!;
    // on a busy machine the better of two tells more
    if (secondsPerToken * largest.reduce((sum, { ids }) => sum + ids.length, 0) < QUICK_STEP_SECONDS) {
      const { seconds, tokens } = await step(largest);
      secondsPerToken = Math.min(secondsPerToken, seconds / tokens);
    }
    const first = measures[0]!;
    const half = Math.ceil(first.length / 2);
    // lines of another length tell what goes by pairs of tokens
    const other =
      needs.packs || first.length !== measures.at(-1)!.length || half < FIRST_TOKENS
        ? null
        : cut([...first.rows, ...first.rows], half);
    const shorter = other && {
      ...shapeOf(other, request),
      bytes: (await step(other)).gradientPeakBytes - held,
    };
    return { secondsPerToken, bytes: { measured, ...slopesOf(measures, shorter), move } };
  });
}

/**
 * One update as the run would make it, in its own micro-batches: the best time of three at most, memory at its peak
 * and after it.
 */
export async function timeUpdate(
  request: ProbeRequest,
  program: LossProgram,
  adapter: AdapterInfo | null,
  all: TrainRow[],
  signal: AbortSignal,
): Promise<{ secondsPerToken: number; peakBytes: number; activeBytes: number }> {
  const rows = trainable(all);
  return withUpdates(request, program, adapter, signal, async (step) => {
    await step(cut(rows.slice(0, unitOf(request)), FIRST_TOKENS));
    let [secondsPerToken, most, seconds] = [Infinity, 0, 0];
    for (let k = 0; k < 3 && seconds < SLOW_STEP_SECONDS; k++) {
      const result = await step(rows);
      seconds += result.seconds;
      secondsPerToken = Math.min(secondsPerToken, result.seconds / result.tokens);
      most = Math.max(most, result.peakBytes);
    }
    const { activeBytes } = await request.engine.stats();
    return { secondsPerToken, peakBytes: most, activeBytes };
  });
}

/** What is trained, and what its optimiser remembers: the costs have these apart, and whatever else is there is activations. */
function heldBytes({ model, params }: ProbeRequest, adapter: AdapterInfo | null): number {
  if (adapter === null)
    return model.parameters * (STATE_BYTES[params.optimizer] + (model.dtype === 'f32' ? 0 : 4));
  return adapter.parameters * (4 + STATE_BYTES[optimizerOf(params, adapter)]);
}

/** Muon is for whole models alone. */
const optimizerOf = ({ optimizer }: ProbeRequest['params'], adapter: AdapterInfo | null) =>
  adapter && optimizer === 'muon' ? 'adamw' : optimizer;

type Step = (rows: TrainRow[]) => Promise<StepResult>;

/** Updates at rate 0: they move nothing. */
async function withUpdates<T>(
  { engine, model, params, needs, teacher, microTokens }: ProbeRequest,
  program: LossProgram,
  adapter: AdapterInfo | null,
  signal: AbortSignal,
  work: (step: Step) => Promise<T>,
): Promise<T> {
  const optimizer = await engine.createOptimizer(
    adapter ? { kind: 'adapter', adapter: adapter.id } : { kind: 'full', model: model.id },
    optimizerSpec({ ...params, optimizer: optimizerOf(params, adapter), weightDecay: 0 }),
  );
  try {
    return await work((rows) =>
      engine.step(
        {
          optimizer,
          ...buildBatch(withStandIns(rows, program), program, lossTokens(rows), params),
          program: JSON.stringify(program),
          ...(needs.roles.includes('teacher') && {
            teacher: teacher ?? { model: model.id, adapter: null },
          }),
          temperature: needs.temperature ?? 1,
          learningRate: 0,
          maxGradNorm: params.maxGradNorm > 0 ? params.maxGradNorm : null,
          microTokens,
          recompute: params.recompute,
          ...forwardOptions(needs, 0),
        },
        { signal },
      ),
    );
  } finally {
    await engine.freeOptimizer(optimizer);
  }
}

const unitOf = ({ data }: Pick<ProbeRequest, 'data'>) => (data.kind === 'pairs' ? 2 : 1);

/** Rows that a step trains; where it trains none, all are measured all the same. */
function trainable(rows: TrainRow[]): TrainRow[] {
  const trained = rows.filter((row) => row.use === 'train');
  return trained.length > 0 ? trained : rows.map((row) => ({ ...row, use: 'train' as const }));
}

/** Whole units, by their longest row, as the engine takes them. */
function longestFirst(rows: readonly TrainRow[], unit: number): TrainRow[] {
  const units: { rows: TrainRow[]; longest: number }[] = [];
  for (let k = 0; k + unit <= rows.length; k += unit) {
    const own = rows.slice(k, k + unit);
    units.push({ rows: own, longest: Math.max(...own.map(({ ids }) => ids.length)) });
  }
  return units.sort((a, b) => b.longest - a.longest).flatMap((each) => each.rows);
}

/** Rows are packed on lines of so many tokens; null: each is its own. */
export const packedLine = ({
  needs,
  model,
  microTokens,
}: Pick<ProbeRequest, 'needs' | 'model' | 'microTokens'>): number | null =>
  needs.packs && model.packs ? Math.min(needs.maxTokens ?? Infinity, model.contextLength, microTokens) : null;

/** The micro-batch that rows make on a device, all at once. */
function shapeOf(rows: readonly TrainRow[], request: ProbeRequest): MicroBatch {
  const line = packedLine(request);
  const lengths = rows.map(({ ids }) => ids.length);
  const unit = unitOf(request);
  const { lines, length } =
    line === null ? { lines: rows.length, length: Math.max(...lengths) } : packedLines(lengths, line);
  // memory is a device's, and so are the rows that it holds
  return { lines: unit * mostOnOne(lines / unit, request.engine.devices), length };
}

/** Of the run's largest micro-batch what a probe measures: rows, and tokens of each at most. */
function targetOf(
  request: ProbeRequest,
  rows: readonly TrainRow[],
  unit: number,
): { rows: number; length: number } {
  const { devices } = request.engine;
  const most = Math.min(TRAIN_TOKENS, request.microTokens);
  const perStep = request.needs.prompts * request.needs.groupSize * unit;
  const length = rows[0]!.ids.length;
  if (packedLine(request) !== null) {
    let count = 0;
    for (let tokens = 0; count < Math.min(rows.length, perStep); count++) {
      tokens += rows[count]!.ids.length;
      if (tokens > most * devices && count > 0) break;
    }
    return { rows: count, length };
  }
  const fit = unit * Math.max(1, Math.floor(most / (unit * length)));
  return {
    rows: Math.min(fit * devices, perStep, rows.length),
    length: fit === unit ? Math.min(length, most) : length,
  };
}

/** A share of the rows, or, where they are too few to share, of their tokens. */
function part(
  rows: readonly TrainRow[],
  target: { rows: number; length: number },
  unit: number,
  share: number,
): TrainRow[] {
  if (target.rows >= 4 * unit) return rows.slice(0, unit * Math.floor((target.rows * share) / unit));
  return cut(rows.slice(0, target.rows), Math.ceil(target.length * share));
}

/** The rows' beginnings; of what is cut all is learnt, so that something is. */
const cut = (rows: readonly TrainRow[], length: number): TrainRow[] =>
  rows.map((row) => {
    const n = Math.max(2, length);
    if (row.ids.length <= n) return row;
    const values = Object.entries(row.values).map(([name, value]) => [
      name,
      typeof value === 'number' ? value : value.subarray(0, n - 1),
    ]);
    return {
      ...row,
      ids: row.ids.subarray(0, n),
      loss: new Uint8Array(n - 1).fill(1),
      values: Object.fromEntries(values) as TrainRow['values'],
    };
  });

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
