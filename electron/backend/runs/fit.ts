import { withFit, type ChosenFit, type Fit, type RunConfig } from '../../../shared/contract/runs';
import { AtelierError } from '../../../shared/rpc';
import { costRun, type BusyRuns, type Costed } from './costed';
import { fromEngine } from './engine-errors';
import { gb } from './estimate';
import type { RunsOptions } from './options';

/**
 * Tokens of a micro-batch beyond which nothing is gained: the CPU keeps activations in its cache, a GPU wants large
 * products (native/README.md has the figures).
 */
const ENOUGH = { cpu: 1024, gpu: 32_768 };
const LEAST = 16;
/** An estimate is within 10 % of what is then measured. */
const SHARE = 0.9;

export interface FittedRun extends ChosenFit {
  /** The configuration as it was measured. */
  config: RunConfig;
  costed: Costed;
}

/** Sizes worth trying: halves of what is enough, down to one row (or pair) at a time. */
function sizes(most: number): number[] {
  const all = [most];
  while (all.at(-1)! > LEAST) all.push(Math.floor(all.at(-1)! / 2));
  return all;
}

/** @throws AtelierError out_of_memory with what is needed and what there is, invalid_input, conflict where a run is at work */
export async function chooseFit(
  config: RunConfig,
  options: RunsOptions,
  runs: BusyRuns,
  signal: AbortSignal,
): Promise<ChosenFit> {
  const { fit, reasons, leastBytes, availableBytes } = await fitRun(config, options, runs, signal);
  return { fit, reasons, leastBytes, availableBytes };
}

/** The same, with the costs that it was chosen by. Layers are recomputed only where nothing else fits: it takes time. */
export async function fitRun(
  config: RunConfig,
  options: RunsOptions,
  runs: BusyRuns,
  signal: AbortSignal,
): Promise<FittedRun> {
  const { device } = await options.engineHost.engine();
  const most = device === 'cpu' ? ENOUGH.cpu : ENOUGH.gpu;
  const failures: Unfit[] = [];
  for (const recompute of config.params['recompute'] === true ? [true] : [false, true]) {
    const tried = { ...config, params: { ...config.params, recompute } };
    const found = await costOf(tried, options, runs, signal);
    if ('message' in found) {
      failures.push(found);
      continue;
    }
    const { costed, availableBytes } = found;
    const at = (microTokens: number) => costed.costsAt(microTokens).leastBytes;
    const room = SHARE * availableBytes;
    const choices = sizes(most);
    const microTokens = choices.find((size) => at(size) <= room);
    if (microTokens === undefined) {
      failures.push(unfit(costed, Math.min(...choices.map(at)), availableBytes));
      continue;
    }
    const { packing } = costed.checked.params as { packing?: boolean };
    const fit = { microTokens, recompute, packing: packing ?? null };
    const before = recompute ? failures.at(0) : undefined;
    return {
      fit,
      config: withFit(config, fit),
      costed,
      leastBytes: at(microTokens),
      availableBytes,
      reasons: [
        ...sizeReason(fit, costed, { most, available: availableBytes, onCpu: device === 'cpu' }),
        ...(before
          ? [`Layers are recomputed, which takes about a third longer: without that ${before.needs}.`]
          : recompute
            ? ['Layers are recomputed, as the configuration says.']
            : ['Layers are not recomputed: their activations fit.']),
        ...waitReason(costed, fit, availableBytes),
      ],
    };
  }
  const last = failures.at(-1)!;
  throw new AtelierError('out_of_memory', last.message, last.hint, { path: 'params' });
}

interface Unfit {
  message: string;
  /** As part of a sentence. */
  needs: string;
  hint: string;
}

async function costOf(
  config: RunConfig,
  options: RunsOptions,
  runs: BusyRuns,
  signal: AbortSignal,
): Promise<{ costed: Costed; availableBytes: number } | Unfit> {
  try {
    const { problems, costed, availableBytes } = await costRun(
      { ...config, microTokens: null },
      options,
      runs,
      signal,
    );
    if (costed) return { costed, availableBytes };
    const error = problems.find(({ level }) => level === 'error');
    if (error) throw new AtelierError('invalid_input', error.message, error.hint, { path: error.path });
    throw new AtelierError('conflict', problems.at(-1)!.message, 'Try again then.');
  } catch (error) {
    const known = error instanceof AtelierError ? error : fromEngine(error);
    if (known?.code !== 'out_of_memory') throw error;
    return {
      message: `It does not fit in any way: there is no room to measure it. ${known.message}.`,
      needs: `it cannot even be measured (${known.message})`,
      hint: waysOut(config.params, true),
    };
  }
}

function unfit(costed: Costed, least: number, available: number): Unfit {
  const { params } = costed.checked;
  const { memory } = costed.costsAt(LEAST);
  const held = memory.weights + memory.adapter + memory.optimizer + memory.others;
  return {
    message:
      `It does not fit in any way: one row at a time${params.recompute ? ' with layers recomputed' : ''} needs about ${gb(least)}` +
      ` (${gb(held)} of it for weights and what is trained), and the engine may use ${gb(available)}, of which a tenth is kept free.`,
    needs: `it needs about ${gb(least)}, and the engine may use ${gb(available)}`,
    hint: waysOut(params, held < available),
  };
}

/** What a person may change, which changes what is learnt. */
function waysOut({ method, optimizer, baseWeights }: Record<string, unknown>, shorter: boolean): string {
  const ways = [
    ...(method === 'full' ? ['an adapter instead of all parameters'] : []),
    ...(method === 'full' && optimizer === 'adamw' ? ['AdamW with 8-bit states'] : []),
    ...(method !== 'full' && (baseWeights ?? 'stored') === 'stored' ? ['an 8-bit or 4-bit base'] : []),
    ...(shorter ? ['shorter rows or answers'] : []),
    'a smaller model',
  ];
  return `These take less: ${ways.join(', ')}.`;
}

function sizeReason(
  { microTokens }: Fit,
  costed: Costed,
  { most, available, onCpu }: { most: number; available: number; onCpu: boolean },
): string[] {
  const tokens = `Micro-batches of ${microTokens.toLocaleString('en')} tokens`;
  if (microTokens < most) {
    const twice = costed.costsAt(2 * microTokens).leastBytes;
    return [
      `${tokens}: of ${(2 * microTokens).toLocaleString('en')} they would need about ${gb(twice)}; the engine may use ${gb(available)}, of which a tenth is kept free.`,
    ];
  }
  return [`${tokens}: larger ones take more memory and are no faster${onCpu ? ' on a CPU' : ''}.`];
}

/** The engine itself decodes as many answers at a time as fit; the others wait. */
function waitReason(costed: Costed, { microTokens }: Fit, available: number): string[] {
  const { memory } = costed.costsAt(microTokens);
  if (memory.total <= available || memory.cache === 0) return [];
  return [
    `All answers of a step at once would need about ${gb(memory.total)}: the engine samples as many at a time as fit.`,
  ];
}
