import type { GeneratedRow } from '../../../native/face';
import type { PromptRow, RowList } from '../datasets';
import type { Sample } from './job';
import type { ProbeRequest } from './probe-request';
import { firstRows } from './probe-rows';
import { mostOnOne } from './share';
import { withPeak } from './with-peak';
import { TRAIN_TOKENS } from './probe-training';

/** What a reward model costs: seconds, and bytes above the resident ones, per token of prompt and answer. */
export interface ScoringRates {
  secondsPerToken: number;
  bytesPerToken: number;
}

/** Scores the first answers with the run's reward model; null where it has none. */
export async function scoreSome(
  { engine, rewardModel, text, needs, data }: ProbeRequest,
  rows: readonly GeneratedRow[],
  signal: AbortSignal,
): Promise<ScoringRates | null> {
  if (rewardModel === null) return null;
  const prompts = firstRows(data.rows as RowList<PromptRow>, needs.prompts);
  const longest = Math.max(...rows.map((row) => prompts[row.prompt]!.ids.length + row.ids.length));
  const some = rows.slice(0, Math.max(1, Math.floor(TRAIN_TOKENS / longest)));
  const samples = await Promise.all(
    some.map(async (row, index): Promise<Sample> => {
      const prompt = prompts[row.prompt]!;
      return { prompt, completion: await text.decode(row.ids), ids: row.ids, index };
    }),
  );
  const score = async () => {
    const start = performance.now();
    await rewardModel.score(samples, { seed: 0, step: 0, breaks: { count: 0 } }, signal);
    return (performance.now() - start) / 1000;
  };
  const { result: cold, bytes } = await withPeak(engine, score);
  const tokens = samples.reduce((sum, { prompt, ids }) => sum + prompt.ids.length + ids.length, 0);
  return {
    secondsPerToken: Math.min(cold, await score()) / tokens,
    bytesPerToken: bytes / (mostOnOne(samples.length, engine.devices) * longest),
  };
}
