import {
  withFit,
  type Fit,
  type RunConfig,
  type TriedFit,
  type TuneItem,
} from '../../../shared/contract/runs';
import { AtelierError } from '../../../shared/rpc';
import { probeUpdate } from '../train';
import { checkConfig } from './check-config';
import { costRun, type BusyRuns, type Costed } from './costed';
import { fitRun } from './fit';
import { withRoles } from './measure';
import { withOpened } from './opened';
import type { RunsOptions } from './options';

/** Faster by less than this is not worth more memory: measures differ by as much. */
const MARGIN = 0.03;
/** Micro-batches that are tried, as multiples of the chosen. */
const NEIGHBOURS = [1, 1 / 2, 2, 4];

/**
 * Tries the fit that would be chosen and its neighbours, an update each at rate 0, and ends with the fastest. Ends
 * with `conflict` where a run begins meanwhile: that has the engine first.
 */
export async function* tuneRun(
  config: RunConfig,
  options: RunsOptions,
  runs: BusyRuns,
  signal: AbortSignal,
): AsyncGenerator<TuneItem> {
  refuseBusy(runs);
  const { fit, reasons, leastBytes, availableBytes, costed } = await fitRun(config, options, runs, signal);
  yield { kind: 'chosen', chosen: { fit, reasons, leastBytes, availableBytes } };
  const tried: TriedFit[] = [];
  for (const { one, costs } of await neighbours(config, fit, costed, options, runs, signal)) {
    signal.throwIfAborted();
    refuseBusy(runs);
    const estimatedBytes = costs.costsAt(one.microTokens).leastBytes;
    const measured =
      estimatedBytes > availableBytes
        ? null
        : await tryFit(withFit(config, one), costs, options, runs, signal);
    tried.push({ fit: one, estimatedBytes, measured });
    yield { kind: 'tried', tried: tried.at(-1)! };
  }
  yield { kind: 'best', best: fastest(tried, availableBytes) };
}

function refuseBusy(runs: BusyRuns): void {
  if (runs.isBusy())
    throw new AtelierError('conflict', 'A run is at work: it has the engine.', 'Tune when it has ended.');
}

/** The chosen fit first. Sizes that divide the rows alike are one. */
async function neighbours(
  config: RunConfig,
  fit: Fit,
  costed: Costed,
  options: RunsOptions,
  runs: BusyRuns,
  signal: AbortSignal,
): Promise<{ one: Fit; costs: Costed }[]> {
  const all: { one: Fit; costs: Costed }[] = [];
  const bytes = new Set<number>();
  for (const times of NEIGHBOURS) {
    const microTokens = Math.max(16, Math.round(fit.microTokens * times));
    const least = costed.costsAt(microTokens).leastBytes;
    if (bytes.has(least)) continue;
    bytes.add(least);
    all.push({ one: { ...fit, microTokens }, costs: costed });
  }
  if (fit.packing !== null && costed.checked.model.packs) {
    const other = { ...fit, packing: !fit.packing };
    const { costed: costs } = await costRun(withFit(config, other), options, runs, signal);
    if (costs) all.push({ one: other, costs });
  }
  return all;
}

async function tryFit(
  config: RunConfig,
  { rates, costsAt }: Costed,
  options: RunsOptions,
  runs: BusyRuns,
  signal: AbortSignal,
): Promise<NonNullable<TriedFit['measured']>> {
  const { checked, problems } = await checkConfig(config, options.sources, runs);
  if (!checked) throw new AtelierError('invalid_input', problems[0]!.message, problems[0]!.hint);
  const { algorithm, params, needs, model } = checked;
  return withOpened(config, checked, options, signal, (opened) => {
    const { engine, microTokens, prepared } = opened;
    const request = {
      ...{ engine, model: opened.model, algorithm, params, needs },
      ...{ text: model.text, data: prepared.data, microTokens },
    };
    const from = { sources: options.sources, engineHost: options.engineHost, engine, runs, microTokens };
    return withRoles(request, checked, from, async (whole) => {
      const { memory } = costsAt(microTokens);
      const { secondsPerToken, bytes } = await probeUpdate(
        whole,
        Math.max(1, Math.min(rates.longest, needs.maxNewTokens ?? Infinity)),
        signal,
      );
      return { secondsPerToken, peakBytes: memory.weights + memory.others + bytes };
    });
  });
}

/** Of those that are as fast, the one of the least memory. */
function fastest(tried: readonly TriedFit[], available: number): TriedFit {
  const all = tried.flatMap(({ measured }, k) => (measured ? [{ ...measured, k }] : []));
  const fitting = all.filter(({ peakBytes }) => peakBytes <= available);
  if (fitting.length === 0) return tried[all.sort((a, b) => a.peakBytes - b.peakBytes)[0]!.k]!;
  const best = Math.min(...fitting.map(({ secondsPerToken }) => secondsPerToken));
  const alike = fitting.filter(({ secondsPerToken }) => secondsPerToken <= best * (1 + MARGIN));
  return tried[alike.sort((a, b) => a.peakBytes - b.peakBytes)[0]!.k]!;
}
