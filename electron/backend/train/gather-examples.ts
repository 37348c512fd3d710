import { exampleRows, fromDataset, type Gathered } from './gathered';
import type { ExampleRow } from '../datasets';
import type { TrainJob, Weights } from './job';
import type { Plan } from './plan';
import type { ProgressMeter } from './progress';
import { draw } from './random';

/**
 * A step's examples; of a share of them (`onPolicy`) the policy samples the answer itself, to what stands before the
 * row's own. Rows whose prompt leaves no room for one keep theirs.
 */
export async function gatherExamples(
  job: TrainJob,
  { needs }: Plan,
  policy: Weights,
  step: number,
  rows: readonly ExampleRow[],
  meter: ProgressMeter,
  signal: AbortSignal,
): Promise<Gathered> {
  if (needs.onPolicy === undefined) return fromDataset(exampleRows(rows));
  const limit = needs.maxNewTokens ?? 512;
  const promptOf = ({ ids, lossMask }: ExampleRow) => ids.slice(0, Math.max(0, lossMask.indexOf(1)));
  const count = Math.round(rows.length * needs.onPolicy);
  // the order of the step's rows is drawn anew in each epoch
  const own = rows.slice(0, count).filter((row) => {
    const { length } = promptOf(row);
    return length > 0 && length + limit <= job.contextLength;
  });
  const answered = new Map(
    own.length === 0
      ? []
      : await sample(job, policy, step, own, own.map(promptOf), limit, needs.temperature, meter, signal),
  );
  const gathered = fromDataset(exampleRows(rows.map((row) => answered.get(row) ?? row)));
  return { ...gathered, metrics: { 'distill/own_answers': answered.size / rows.length } };
}

async function sample(
  job: TrainJob,
  policy: Weights,
  step: number,
  rows: readonly ExampleRow[],
  prompts: Int32Array[],
  maxNewTokens: number,
  temperature = 1,
  meter: ProgressMeter,
  signal: AbortSignal,
): Promise<[ExampleRow, ExampleRow][]> {
  meter.phase('rollout', step, 0, rows.length);
  const generated = await job.engine.generate(
    {
      ...policy,
      prompts,
      samplesPerPrompt: 1,
      maxNewTokens,
      temperature,
      stopIds: job.text.stopIds,
      seed: draw(job.config.seed, 'onPolicy', step),
    },
    { signal, onProgress: ({ finished }) => meter.phase('rollout', step, finished, rows.length) },
  );
  signal.throwIfAborted();
  return generated.rows.map(({ prompt: k, ids: answer }) => {
    const prompt = prompts[k]!;
    const ids = new Int32Array(prompt.length + answer.length);
    ids.set(prompt);
    ids.set(answer, prompt.length);
    const lossMask = new Uint8Array(ids.length).fill(1, prompt.length);
    return [rows[k]!, { ...rows[k]!, ids, lossMask }];
  });
}
