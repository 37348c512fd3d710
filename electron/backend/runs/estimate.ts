import type { Estimate, RunConfig } from '../../../shared/contract/runs';
import { costRun, type BusyRuns } from './costed';
import type { RunsOptions } from './options';

const nothing = {
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
  runs: BusyRuns,
  signal: AbortSignal,
): Promise<Estimate> {
  const { problems: found, availableBytes, devices, costed } = await costRun(config, options, runs, signal);
  const problems = [...found];
  if (costed === null) return { ...nothing, availableBytes, devices, problems };
  const { leastBytes, ...costs } = costed.costsAt(costed.microTokens);
  const { needs, params } = costed.checked;
  if (leastBytes > availableBytes) {
    problems.push({
      level: 'error',
      path: 'params',
      message: `It needs at least about ${gb(leastBytes)}; the engine may use ${gb(availableBytes)}.`,
      hint: params.recompute
        ? 'Shorter answers, fewer prompts or a smaller model take less.'
        : 'Fit to memory chooses what takes less and learns the same; shorter answers, fewer prompts or a smaller model take less too.',
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
  if (!costed.rates.complete) {
    problems.push({
      level: 'warning',
      path: 'params.maxNewTokens',
      message: 'Answers were longer than the measure had time for: the time shown is the most it can take.',
    });
  }
  return { ...costs, availableBytes, devices, problems };
}

export const gb = (bytes: number) =>
  bytes < 1e9 ? `${Math.ceil(bytes / 1e6)} MB` : `${(bytes / 1e9).toFixed(1)} GB`;
