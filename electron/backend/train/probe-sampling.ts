import { ROWS_AT_ONCE, type GeneratedRow } from '../../../native/face';
import type { Needs } from '../../../shared/algorithms';
import type { ProbeRequest } from './probe-request';
import { firstRows } from './probe-rows';
import type { Weights } from './job';
import { mostOnOne } from './share';
import { withPeak } from './with-peak';

/** What answering costs. Seconds of a decoding step: fixed, and for each row. All 0 where a step answers nothing. */
export interface SamplingRates {
  decodeFixed: number;
  decodePerRow: number;
  /** Seconds to read a prompt, per token. */
  prefillPerToken: number;
  /** New tokens of an answer: mean, the longest of a step, and what was allowed (Infinity where nothing is sampled). */
  meanLength: number;
  longest: number;
  limit: number;
  /** False where answers were cut off by the probe's time: lengths are then upper bounds. */
  complete: boolean;
  /** Bytes above the resident ones: per row, per row and token, and however many rows there are. */
  samplingPerRow: number;
  samplingPerToken: number;
  samplingHeld: number;
}

/** Of a step that takes all its answers from the data set. */
export const noSampling: SamplingRates = {
  decodeFixed: 0,
  decodePerRow: 0,
  prefillPerToken: 0,
  meanLength: 0,
  longest: 0,
  limit: Infinity,
  complete: true,
  samplingPerRow: 0,
  samplingPerToken: 0,
  samplingHeld: 0,
};

const SAMPLING_BUDGET_MS = 30_000;

/** Whether a measure holds for answers of a length: what was cut off might have gone on. */
export const covers = ({ limit, longest }: SamplingRates, { maxNewTokens = 0 }: Needs): boolean =>
  maxNewTokens <= limit || longest < limit;

/** The prompts that a step answers: those of its rollouts, or of the share of examples that the policy answers itself. */
export function askedPrompts({
  needs,
  data,
  model,
}: Pick<ProbeRequest, 'needs' | 'data' | 'model'>): Int32Array[] {
  if (data.kind === 'rollouts') return firstRows(data.rows, needs.prompts).map(({ ids }) => ids);
  if (data.kind !== 'examples') return [];
  const own = Math.round(needs.prompts * (needs.onPolicy ?? 0));
  return firstRows(data.rows, own)
    .map(({ ids, lossMask }) => ids.slice(0, Math.max(0, lossMask.indexOf(1))))
    .filter(({ length }) => length > 0 && length + (needs.maxNewTokens ?? 512) <= model.contextLength);
}

/** Answers a step's prompts: 30 seconds at most. */
export async function sample(
  { engine, needs, text }: Pick<ProbeRequest, 'engine' | 'needs' | 'text'>,
  weights: Weights,
  prompts: Int32Array[],
  signal: AbortSignal,
): Promise<{ rates: SamplingRates; rows: GeneratedRow[] }> {
  const limit = needs.maxNewTokens ?? 512;
  const generate = async (some: Int32Array[], maxNewTokens: number, budget: AbortSignal) => {
    const start = performance.now();
    const { rows, heldBytes } = await engine.generate(
      {
        ...weights,
        prompts: some,
        samplesPerPrompt: needs.groupSize,
        maxNewTokens,
        temperature: needs.temperature ?? 1,
        stopIds: text.stopIds,
        seed: 1,
      },
      { signal: budget },
    );
    return { rows, heldBytes, seconds: (performance.now() - start) / 1000 };
  };
  // all rates are a device's: of its share of prompts, with all answers to them
  const share = mostOnOne(prompts.length, engine.devices) / prompts.length;
  const promptTokens = prompts.reduce((sum, { length }) => sum + length, 0);
  await generate(prompts.slice(0, 1), 2, signal); // kernels and caches warm
  const { result: prefill, bytes: leastBytes } = await withPeak(engine, () => generate(prompts, 1, signal));
  const prefillPerToken = prefill.seconds / (promptTokens * share);
  const few = await generate(prompts.slice(0, 1), 8, signal);

  const budget = AbortSignal.any([signal, AbortSignal.timeout(SAMPLING_BUDGET_MS)]);
  const { result: full, bytes } = await withPeak(engine, () => generate(prompts, limit, budget));
  signal.throwIfAborted();

  const lengths = full.rows.map((row) => row.ids.length);
  const steps = Math.max(1, ...lengths);
  const allTokens = lengths.reduce((sum, length) => sum + length, 0);
  const tokens = allTokens * share;
  // two lines through two measures: time = steps * fixed + tokens * perRow
  const fewSteps = Math.max(1, ...few.rows.map((row) => row.ids.length));
  const fewTokens = few.rows.reduce((sum, row) => sum + row.ids.length, 0);
  const fewSeconds = Math.max(1e-6, few.seconds - prefillPerToken * prompts[0]!.length);
  const fullSeconds = Math.max(1e-6, full.seconds - prefill.seconds);
  const determinant = steps * fewTokens - fewSteps * tokens;
  const solved = determinant === 0 ? 0 : (steps * fewSeconds - fewSteps * fullSeconds) / determinant;
  const decodePerRow = Math.min(fullSeconds / tokens, Math.max(0, solved));
  const complete = full.rows.every((row) => row.finish !== 'cancelled');
  // a row of one token and one of all: what is there whatever its length is the rest
  const rowsAtOnce = Math.min(lengths.length * share, ROWS_AT_ONCE);
  const promptLength = promptTokens / prompts.length;
  const perRow = (bytes - full.heldBytes) / rowsAtOnce;
  const leastPerRow = (leastBytes - prefill.heldBytes) / rowsAtOnce;
  const samplingPerToken =
    steps > 1 && leastPerRow < perRow
      ? Math.min((perRow - leastPerRow) / (steps - 1), perRow / (promptLength + steps))
      : perRow / (promptLength + steps);
  const rates = {
    decodeFixed: Math.max(0, fullSeconds - tokens * decodePerRow) / steps,
    decodePerRow,
    prefillPerToken,
    meanLength: complete ? allTokens / lengths.length : limit,
    longest: complete ? steps : limit,
    limit,
    complete,
    samplingPerRow: perRow - samplingPerToken * (promptLength + steps),
    samplingPerToken,
    samplingHeld: full.heldBytes,
  };
  return { rates, rows: full.rows };
}
