import type { Estimate, RunConfig } from '../../../shared/contract/runs';
import { sequencesOf } from '../datasets';
import { covers, extraForwards, probe, type Rates, type RunData } from '../train';
import { checkConfig } from './check-config';
import { costsOf } from './cost-model';
import { chooseMicroTokens, prepareData } from './prepare';
import type { RunsOptions } from './options';

/** Rows that a probe works with; more tell no more. */
const PROBE_ROWS = 512;
/** Measured once for a model with a data set and a size of step; other fields of the form only scale it. */
const measured = new WeakMap<RunsOptions['engineHost'], Map<string, Promise<Rates>>>();

const nothing = {
  memory: { weights: 0, adapter: 0, optimizer: 0, cache: 0, activations: 0, total: 0 },
  secondsPerStep: 0,
  totalSeconds: 0,
  diskBytes: 0,
  rollouts: null,
};

/** Problems by field; where there is none that stops the run, its costs from a measure with the engine. */
export async function estimateRun(
  config: RunConfig,
  options: RunsOptions,
  isBusy: () => boolean,
  signal: AbortSignal,
): Promise<Estimate> {
  const { problems, checked } = await checkConfig(config, options.sources);
  const stats = await (await options.engineHost.engine()).stats();
  const availableBytes = stats.memoryLimitBytes;
  if (!checked) return { ...nothing, availableBytes, problems };
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
      availableBytes,
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
    const known = measured.get(options.engineHost) ?? new Map<string, Promise<Rates>>();
    measured.set(options.engineHost, known);
    const key = [
      model.hash,
      config.data.dataset,
      algorithm.key,
      needs.temperature,
      params.method === 'full' ? params.optimizer : params.loraTargets,
      params.baseWeights,
      params.dora,
      params.savedModules,
      params.recompute,
      // these look at the whole step first, with a forward of their own
      program.nodes.some(({ op }) => op === 'quantile' || op === 'sort'),
      JSON.stringify(config.data.mapping),
      // half or twice as many rows still scale; more is measured anew
      Math.round(Math.log2(needs.prompts * needs.groupSize)),
    ].join(' ');
    const kept = await known.get(key)?.catch(() => null);
    if (kept && !covers(kept, needs)) known.delete(key);
    if (!known.has(key) && isBusy()) {
      return {
        ...nothing,
        availableBytes,
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
      const probing = probe(
        {
          engine,
          model: lease.model,
          algorithm,
          params,
          needs,
          stopIds: model.text.stopIds,
          data,
        },
        signal,
      );
      known.set(key, probing);
      probing.catch(() => known.delete(key));
    }
    const rates = await known.get(key)!;
    const { leastBytes, ...costs } = costsOf(lease.model, rates, {
      needs,
      rowTokens: meanTokens(data),
      forwards: extraForwards(needs, program),
      rank: params.loraRank,
      full: params.method === 'full',
      optimizer: params.optimizer,
      steps: await algorithm.steps(params, prepared.usable),
      heldOut: prepared.heldOutRows,
      microTokens: await chooseMicroTokens(engine, model, params),
      keepCheckpoints: options.settings.values.keepCheckpoints,
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
    const uncounted = [
      ...needs.roles.filter((role) => role === 'critic' || role === 'teacher').map((role) => `the ${role}`),
      ...(checked.rewardModel ? ['the reward model'] : []),
    ];
    if (uncounted.length > 0) {
      problems.push({
        level: 'warning',
        path: '',
        message: `Memory and time shown leave out ${uncounted.join(' and ')}: the run needs more.`,
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
    return { ...costs, availableBytes, problems };
  } finally {
    lease.release();
    prepared.close();
  }
}

function meanTokens({ rows }: RunData): number {
  let tokens = 0;
  let sequences = 0;
  for (let k = 0; k < rows.length; k++) {
    for (const { length } of sequencesOf(rows.at(k)!)) {
      tokens += length;
      sequences++;
    }
  }
  return tokens / sequences;
}

const gb = (bytes: number) => `${(bytes / 1e9).toFixed(1)} GB`;
