import type { AdapterInfo } from '../../../native/face';
import type { LossProgram } from '../../../shared/program';
import { buildBatch, lossTokens, type TrainRow } from './batch';
import { optimizerSpec } from './optimizer-spec';
import type { ProbeRequest } from './probe-request';
import { mostOnOne } from './share';
import { withPeak } from './with-peak';

/** What an update of one role costs: seconds of forward and backward, and bytes above the resident ones, per padded token. */
export interface UpdateRates {
  secondsPerToken: number;
  bytesPerToken: number;
}

/** After a first step that took longer than this, the second is of fewer rows. */
const SLOW_STEP_SECONDS = 2;
export const TRAIN_TOKENS = 4096;

/** Two updates at rate 0 on the first rows that a step would train, of an adapter or (null) of the whole model. */
export async function trainSome(
  { engine, model, params, needs, data, teacher }: ProbeRequest,
  program: LossProgram,
  adapter: AdapterInfo | null,
  all: TrainRow[],
  signal: AbortSignal,
): Promise<UpdateRates> {
  const rows: TrainRow[] = [];
  let longest = 0;
  // where none is trained, all are measured all the same
  const trained = all.filter((row) => row.use === 'train');
  const some = trained.length > 0 ? trained : all.map((r) => ({ ...r, use: 'train' as const }));
  const unit = data.kind === 'pairs' ? 2 : 1;
  for (let k = 0; k + unit <= some.length; k += unit) {
    const next = some.slice(k, k + unit);
    longest = Math.max(longest, ...next.map((row) => row.ids.length));
    if (rows.length > 0 && (rows.length + unit) * longest > TRAIN_TOKENS) break;
    rows.push(...next);
  }
  // memory is a device's, and so are the rows that it holds
  const padded = unit * mostOnOne(rows.length / unit, engine.devices) * longestOf(rows);
  const kind = adapter && params.optimizer === 'muon' ? 'adamw' : params.optimizer;
  const optimizer = await engine.createOptimizer(
    adapter ? { kind: 'adapter', adapter: adapter.id } : { kind: 'full', model: model.id },
    optimizerSpec({ ...params, optimizer: kind, weightDecay: 0 }),
  );
  const step = (taken: TrainRow[]) =>
    engine.step(
      {
        optimizer,
        ...buildBatch(withStandIns(taken, program), program, lossTokens(taken), params),
        program: JSON.stringify(program),
        ...(needs.roles.includes('teacher') && { teacher: teacher ?? { model: model.id, adapter: null } }),
        temperature: needs.temperature ?? 1,
        learningRate: 0,
        maxGradNorm: null,
        microTokens: TRAIN_TOKENS * 2,
        recompute: params.recompute,
      },
      { signal },
    );
  try {
    const { result: cold, bytes } = await withPeak(engine, () => step(rows));
    // the first step pays for memory that later ones find; where it was slow, a part of its rows tells the rest
    const part = cold.seconds > SLOW_STEP_SECONDS ? unit * Math.ceil(rows.length / unit / 4) : rows.length;
    const warm = await step(rows.slice(0, part));
    const perToken = ({ seconds, tokens }: { seconds: number; tokens: number }) => seconds / tokens;
    return {
      secondsPerToken: Math.min(perToken(cold), perToken(warm)),
      bytesPerToken: bytes / padded,
    };
  } finally {
    await engine.freeOptimizer(optimizer);
  }
}

const longestOf = (rows: readonly TrainRow[]) => Math.max(...rows.map((row) => row.ids.length));

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
