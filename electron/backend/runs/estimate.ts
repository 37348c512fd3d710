import type { Estimate, RunConfig } from '../../../shared/contract/runs';
import { valuesByModule, type CommonParams, type DataKind } from '../../../shared/algorithms';
import { sequencesOf, type RowList, type RowOf } from '../datasets';
import { covers, extraForwards } from '../train';
import { checkConfig } from './check-config';
import { costsOf, type Lengths } from './cost-model';
import { measureRun, problemAt, type Measure } from './measure';
import { chooseMicroTokens, prepareData } from './prepare';
import type { RunsOptions } from './options';
import type { OtherRuns } from './other-runs';

/** Rows that a probe works with; more tell no more. */
const PROBE_ROWS = 512;
/** Up to so many a GPU decodes in another way (native/src/kernels/thin_product.h): what is held is not the same. */
const FEW_ROWS = 16;
/** Alphas cost nothing, but they may name modules that are not there. */
const adapterKey = ({ loraTargets, loraRanks, loraAlphas }: CommonParams) =>
  JSON.stringify([loraTargets, valuesByModule(loraRanks), Object.keys(valuesByModule(loraAlphas))]);
/** Measured once for a model with a data set and a size of step; other fields of the form only scale it. */
const measured = new WeakMap<RunsOptions['engineHost'], Map<string, Promise<Measure>>>();

const NOTHING = {
  memory: { weights: 0, adapter: 0, optimizer: 0, others: 0, cache: 0, activations: 0, total: 0 },
  secondsPerStep: 0,
  totalSeconds: 0,
  diskBytes: 0,
  rollouts: null,
};

/** Problems by field; where there is none that stops the run, its costs from a measure with the engine. */
export async function estimateRun(
  config: RunConfig,
  options: RunsOptions,
  runs: OtherRuns & { isBusy(): boolean },
  signal: AbortSignal,
): Promise<Estimate> {
  const { problems, checked } = await checkConfig(config, options.sources, runs);
  const working = await options.engineHost.engine();
  const { devices } = working;
  const { memoryLimitBytes: availableBytes } = await working.stats();
  const nothing = { ...NOTHING, availableBytes, devices };
  if (!checked) return { ...nothing, problems };
  const { model, needs, algorithm, params } = checked;
  const program = algorithm.losses(params).policy;
  let prepared;
  try {
    prepared = await prepareData(config, checked, options.sources, { limit: PROBE_ROWS, signal });
  } catch (error) {
    const { message, hint, details } = error as {
      message: string;
      hint?: string;
      details?: { path?: string };
    };
    const path = details?.path ?? 'data.dataset';
    return {
      ...nothing,
      problems: [...problems, { level: 'error', path, message, ...(hint ? { hint } : {}) }],
    };
  }
  const { data } = prepared;
  const lease = await options.engineHost
    .acquire(model.path, model.bytes, params.baseWeights)
    .catch((error: unknown) => {
      prepared.close();
      throw error;
    });
  try {
    const engine = await options.engineHost.engine();
    const microTokens = await chooseMicroTokens(engine, model, params);
    const known = measured.get(options.engineHost) ?? new Map<string, Promise<Measure>>();
    measured.set(options.engineHost, known);
    const key = [
      model.hash,
      config.data.dataset,
      algorithm.key,
      needs.temperature,
      params.method === 'full' ? params.optimizer : adapterKey(params),
      params.baseWeights,
      params.dora,
      params.savedModules,
      params.recompute,
      // these look at the whole step first, with a forward of their own
      program.nodes.some(({ op }) => op === 'quantile' || op === 'sort'),
      JSON.stringify(config.data.mapping),
      JSON.stringify([checked.teacher, checked.rewardModel]),
      // half or twice as many rows still scale; more is measured anew
      Math.round(Math.log2(needs.prompts * needs.groupSize)),
      needs.prompts * needs.groupSize > FEW_ROWS,
      Math.round(4 * (needs.onPolicy ?? 0)),
      devices,
    ].join(' ');
    const kept = await known.get(key)?.catch(() => null);
    if (kept && !covers(kept.rates, needs)) known.delete(key);
    if (!known.has(key) && runs.isBusy()) {
      return {
        ...nothing,
        problems: [
          ...problems,
          {
            level: 'warning',
            path: '',
            message: 'A run is at work: time and memory are measured when it has ended.',
          },
        ],
      };
    }
    if (!known.has(key)) {
      const probing = measureRun(
        { engine, model: lease.model, algorithm, params, needs, text: model.text, data },
        checked,
        { sources: options.sources, engineHost: options.engineHost, engine, runs, microTokens },
        signal,
      );
      known.set(key, probing);
      probing.catch(() => known.delete(key));
    }
    const measure = await known.get(key)!.catch((error: unknown) => {
      const problem = problemAt(error);
      if (problem === null) throw error;
      return problem;
    });
    if ('level' in measure) return { ...nothing, problems: [...problems, measure] };
    const { rates, others } = measure;
    const { leastBytes, ...costs } = costsOf(lease.model, rates, {
      needs,
      row: lengthsOf(data, sequencesOf),
      prompt: lengthsOf(data, needs.data === 'examples' ? promptOf : sequencesOf),
      others,
      forwards: extraForwards(needs, program),
      rank: params.loraRank,
      full: params.method === 'full',
      optimizer: params.optimizer,
      steps: await algorithm.steps(params, prepared.usable),
      heldOut: prepared.heldOutRows,
      microTokens,
      keepCheckpoints: options.settings.values.keepCheckpoints,
      availableBytes,
      devices,
    });
    if (leastBytes > availableBytes) {
      problems.push({
        level: 'error',
        path: 'params',
        message: `It needs at least about ${gb(leastBytes)}; the engine may use ${gb(availableBytes)}.`,
        hint: 'Shorter answers, fewer prompts or a smaller model take less.',
      });
    } else if (costs.memory.total > availableBytes) {
      problems.push({
        level: 'warning',
        path: 'params',
        message: `All answers of a step at once need about ${gb(costs.memory.total)}; the engine may use ${gb(availableBytes)}: some wait, and sampling takes longer than shown.`,
      });
    }
    if (needs.resample) {
      problems.push({
        level: 'warning',
        path: 'params.resample',
        message: `The time shown is that of one round of prompts; sampling may take up to ${needs.resample + 1} times as long.`,
      });
    }
    if (!rates.complete) {
      problems.push({
        level: 'warning',
        path: 'params.maxNewTokens',
        message: 'Answers were longer than the measure had time for: the time shown is the most it can take.',
      });
    }
    return { ...costs, availableBytes, devices, problems };
  } finally {
    lease.release();
    prepared.close();
  }
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

const gb = (bytes: number) => `${(bytes / 1e9).toFixed(1)} GB`;
