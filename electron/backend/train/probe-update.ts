import type { GeneratedRow } from '../../../native/face';
import type { PromptRow, RowList } from '../datasets';
import { adapterSpec } from './adapter-subject';
import type { TrainRow } from './batch';
import { withAdapter } from './probe';
import type { ProbeRequest } from './probe-request';
import { datasetRows, firstRows, judgedRows } from './probe-rows';
import { timeUpdate } from './probe-training';

/** Tokens of an update that is tried; a larger one takes as long for each, and no more memory. */
const TRIED_TOKENS = 8192;

/** What an update takes as the run is divided: seconds per token of all roles, and the most bytes above the model. */
export interface TriedUpdate {
  secondsPerToken: number;
  bytes: number;
}

/** Tries an update of a step, whose answers are of `longest` tokens where it samples them. Leaves nothing behind. */
export async function probeUpdate(
  request: ProbeRequest,
  longest: number,
  signal: AbortSignal,
): Promise<TriedUpdate> {
  const { params, needs, algorithm, data } = request;
  const programs = algorithm.losses(params);
  const all =
    data.kind === 'rollouts'
      ? (await judgedRows(request, standIns(request, longest))).rows
      : datasetRows(data);
  const rows = firstOf(request, all);
  const policy =
    params.method === 'full'
      ? null
      : adapterSpec(params, { stream: 'lora', scalarHead: needs.scalarHead ?? false }, 0);
  const tried = (spec: typeof policy, program: typeof programs.policy) =>
    withAdapter(request, spec, async (adapter, before) => {
      const timed = await timeUpdate(request, program, adapter?.info ?? null, rows, signal);
      const { secondsPerToken, peakBytes, activeBytes } = timed;
      return { secondsPerToken, bytes: peakBytes - before, held: activeBytes - before };
    });
  const own = await tried(policy, programs.policy);
  if (!needs.critic || !programs.critic) return own;
  const critic = await tried(adapterSpec(params, { stream: 'critic', scalarHead: true }, 0), programs.critic);
  return {
    secondsPerToken: own.secondsPerToken + critic.secondsPerToken,
    // each beside what the other holds
    bytes: Math.max(own.bytes + critic.held, critic.bytes + own.held),
  };
}

/** The rows of one update, so many that they are tried in a few seconds: whole pairs, the longest among them. */
function firstOf({ needs, data, microTokens }: ProbeRequest, all: TrainRow[]): TrainRow[] {
  const unit = data.kind === 'pairs' ? 2 : 1;
  const count = Math.ceil((needs.prompts * needs.groupSize) / needs.minibatches) * unit;
  const most = Math.max(TRIED_TOKENS, microTokens);
  const rows: TrainRow[] = [];
  for (let tokens = 0; rows.length + unit <= Math.min(count, all.length);) {
    const next = all.slice(rows.length, rows.length + unit);
    tokens += next.reduce((sum, { ids }) => sum + ids.length, 0);
    if (rows.length > 0 && tokens > most) break;
    rows.push(...next);
  }
  return rows;
}

/** Answers that cost what sampled ones do. */
function standIns({ needs, data }: ProbeRequest, longest: number): GeneratedRow[] {
  return firstRows(data.rows as RowList<PromptRow>, needs.prompts).flatMap(({ ids }, prompt) =>
    Array.from({ length: needs.groupSize }, () => ({
      prompt,
      ids: new Int32Array(longest).fill(ids[0]!),
      logprob: new Float32Array(longest),
      rawLogprob: new Float32Array(longest),
      finish: 'stop' as const,
    })),
  );
}
