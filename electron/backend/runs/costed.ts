import type { RunConfig } from '../../../shared/contract/runs';
import type { Problem } from '../../../shared/contract/common';
import { valuesByModule, type CommonParams, type DataKind } from '../../../shared/algorithms';
import { AtelierError } from '../../../shared/rpc';
import { sequencesOf, type RowList, type RowOf } from '../datasets';
import { covers, extraForwards, packedLine, packedLines, type Rates } from '../train';
import { checkConfig, type Checked } from './check-config';
import { costsOf, type Costs, type Lengths } from './cost-model';
import { measureRun, problemAt, type Measure } from './measure';
import { withOpened, type Opened } from './opened';
import { chooseMicroTokens } from './prepare';
import type { RunsOptions } from './options';
import type { OtherRuns } from './other-runs';

/** Up to so many a GPU decodes in another way (native/src/kernels/thin_product.h): what is held is not the same. */
const FEW_ROWS = 16;
/** Measured once for a model with a data set and a size of step; other fields of the form only scale it. */
const measured = new WeakMap<RunsOptions['engineHost'], Map<string, Promise<Measure>>>();

export type BusyRuns = OtherRuns & { isBusy(): boolean };

/** A run's costs, whatever micro-batches it is divided into. */
export interface Costed {
  checked: Checked;
  rates: Rates;
  /** What the run takes where nothing else is chosen. */
  microTokens: number;
  costsAt(microTokens: number): Costs;
}

export interface Measured {
  /** One of level `error` stops the run. */
  problems: Problem[];
  /** Of a device, and how many share the work. */
  availableBytes: number;
  devices: number;
  /** null where something stops the run, or a run has the engine. */
  costed: Costed | null;
}

/** What is wrong with a configuration, by field, and where nothing stops the run, its costs by a measure with the engine. */
export async function costRun(
  config: RunConfig,
  options: RunsOptions,
  runs: BusyRuns,
  signal: AbortSignal,
): Promise<Measured> {
  const { problems, checked } = await checkConfig(config, options.sources, runs);
  const engine = await options.engineHost.engine();
  const { devices } = engine;
  const { memoryLimitBytes: availableBytes } = await engine.stats();
  const nothing = (problem?: Problem): Measured => ({
    availableBytes,
    devices,
    problems: problem ? [...problems, problem] : problems,
    costed: null,
  });
  if (!checked) return nothing();
  let opened = false;
  try {
    return await withOpened(config, checked, options, signal, async (open) => {
      opened = true;
      const measure = await measureOnce(config, checked, open, options, runs, signal);
      if ('level' in measure) return nothing(measure);
      const costsAt = await costsOfOpened(checked, measure, open, options, availableBytes);
      const { rates } = measure;
      return {
        problems,
        availableBytes,
        devices,
        costed: { checked, rates, microTokens: open.microTokens, costsAt },
      };
    });
  } catch (error) {
    if (opened || !(error instanceof AtelierError)) throw error;
    // the rows cannot be read
    const { message, hint, details } = error;
    const path = typeof details?.['path'] === 'string' ? details['path'] : 'data.dataset';
    return nothing({ level: 'error', path, message, ...(hint === undefined ? {} : { hint }) });
  }
}

/** Alphas cost nothing, but they may name modules that are not there. */
const adapterKey = ({ loraTargets, loraRanks, loraAlphas }: CommonParams) =>
  JSON.stringify([loraTargets, valuesByModule(loraRanks), Object.keys(valuesByModule(loraAlphas))]);

async function measureOnce(
  config: RunConfig,
  checked: Checked,
  { prepared, engine, model }: Opened,
  { sources, engineHost }: RunsOptions,
  runs: BusyRuns,
  signal: AbortSignal,
): Promise<Measure | Problem> {
  const { needs, algorithm, params } = checked;
  const program = algorithm.losses(params).policy;
  const known = measured.get(engineHost) ?? new Map<string, Promise<Measure>>();
  measured.set(engineHost, known);
  const key = [
    checked.model.hash,
    config.data.dataset,
    algorithm.key,
    needs.temperature,
    params.method === 'full' ? params.optimizer : adapterKey(params),
    params.baseWeights,
    params.dora,
    params.savedModules,
    params.recompute,
    needs.packs,
    // these look at the whole step first, with a forward of their own
    program.nodes.some(({ op }) => op === 'quantile' || op === 'sort'),
    JSON.stringify(config.data.mapping),
    JSON.stringify([checked.teacher, checked.rewardModel]),
    // half or twice as many rows still scale; more is measured anew
    Math.round(Math.log2(needs.prompts * needs.groupSize)),
    needs.prompts * needs.groupSize > FEW_ROWS,
    Math.round(4 * (needs.onPolicy ?? 0)),
    engine.devices,
  ].join(' ');
  const kept = await known.get(key)?.catch(() => null);
  if (kept && !covers(kept.rates, needs)) known.delete(key);
  if (!known.has(key) && runs.isBusy()) {
    return {
      level: 'warning',
      path: '',
      message: 'A run is at work: time and memory are measured when it has ended.',
    };
  }
  if (!known.has(key)) {
    // whatever this run has chosen: others, divided otherwise, go by the same measure
    const microTokens = await chooseMicroTokens(engine, checked.model, params);
    const probing = measureRun(
      { engine, model, algorithm, params, needs, text: checked.model.text, data: prepared.data, microTokens },
      checked,
      { sources, engineHost, engine, runs, microTokens },
      signal,
    );
    known.set(key, probing);
    probing.catch(() => known.delete(key));
  }
  return known.get(key)!.catch((error: unknown) => {
    const problem = problemAt(error);
    if (problem === null) throw error;
    return problem;
  });
}

async function costsOfOpened(
  { needs, algorithm, params }: Checked,
  { rates, others }: Measure,
  { prepared, model, engine }: Opened,
  { settings }: RunsOptions,
  availableBytes: number,
): Promise<Costed['costsAt']> {
  const { data } = prepared;
  const shape = {
    needs,
    row: lengthsOf(data, sequencesOf),
    prompt: lengthsOf(data, needs.data === 'examples' ? promptOf : sequencesOf),
    others,
    forwards: extraForwards(needs, algorithm.losses(params).policy),
    rank: params.loraRank,
    full: params.method === 'full',
    optimizer: params.optimizer,
    steps: await algorithm.steps(params, prepared.usable),
    heldOut: prepared.heldOutRows,
    keepCheckpoints: settings.values.keepCheckpoints,
    availableBytes,
    devices: engine.devices,
  };
  const lengths =
    data.kind === 'examples'
      ? Array.from({ length: data.rows.length }, (_, k) => data.rows.at(k)!.ids.length)
      : [];
  return (microTokens) => {
    const line = packedLine({ needs, model, microTokens });
    return costsOf(model, rates, {
      ...shape,
      microTokens,
      packed: line === null ? null : packedStep(lengths, needs.prompts, line),
    });
  };
}

/** Lines of a step of `count` rows that has many tokens, as one in forty has: of a run's steps the largest counts. */
function packedStep(lengths: readonly number[], count: number, line: number) {
  const some = Math.min(count, lengths.length);
  const mean = lengths.reduce((sum, n) => sum + n, 0) / lengths.length;
  const variance = lengths.reduce((sum, n) => sum + (n - mean) ** 2, 0) / lengths.length;
  // rows of a step are drawn without being put back
  const spread = Math.sqrt(some * variance * (1 - some / lengths.length));
  const first = lengths.slice(0, some);
  const packed = packedLines(first, line);
  const onLine = first.reduce((sum, n) => sum + n, 0) / packed.lines;
  return { ...packed, lines: Math.max(1, Math.ceil((some * mean + 2 * spread) / onLine)) };
}

/** Of what `of` takes of each row. */
function lengthsOf<Row extends RowOf[DataKind]>(
  { rows }: { rows: RowList<Row> },
  of: (row: Row) => readonly ArrayLike<number>[],
): Lengths {
  let [tokens, sequences, longest] = [0, 0, 0];
  for (let k = 0; k < rows.length; k++) {
    for (const { length } of of(rows.at(k)!)) {
      tokens += length;
      sequences++;
      longest = Math.max(longest, length);
    }
  }
  return { mean: tokens / sequences, longest };
}

/** What stands before an example's answer. */
const promptOf = (row: RowOf[DataKind]) =>
  'lossMask' in row ? [row.ids.subarray(0, Math.max(0, row.lossMask.indexOf(1)))] : [];
