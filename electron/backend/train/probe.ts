import type { AdapterInfo, LoraSpec } from '../../../native/face';
import { adapterSpec } from './adapter-subject';
import type { TrainRow } from './batch';
import type { ProbeRequest } from './probe-request';
import { datasetRows, judgedRows } from './probe-rows';
import { askedPrompts, noSampling, sample, type SamplingRates } from './probe-sampling';
import { scoreSome, type ScoringRates } from './probe-scoring';
import { trainSome, type UpdateRates } from './probe-training';

/** Numbers of an adapter: those that each rank adds, and those that no rank changes (DoRA's lengths, a head ...). */
export interface AdapterNumbers {
  perRank: number;
  fixed: number;
}

/** What a model costs on this machine, measured with the engine; scales to other shapes of a run. */
export interface Rates extends SamplingRates {
  /** Share of a step's rows that is trained; cut-off answers, say, may not be. */
  trainedShare: number;
  /** Of the policy, with its teacher's forward where the program asks for one. */
  policy: UpdateRates & { adapter: AdapterNumbers | null };
  /** Of the critic, where one is trained. */
  critic: (UpdateRates & { adapter: AdapterNumbers }) | null;
  /** Of the reward model, where there is one. */
  scoring: ScoringRates | null;
}

/** Takes a step's measure: about the time of two steps, 30 seconds of sampling at most. Leaves nothing behind. */
export async function probe(request: ProbeRequest, signal: AbortSignal): Promise<Rates> {
  const { model, params, needs, algorithm } = request;
  const programs = algorithm.losses(params);
  // at rate 0 an update moves nothing: a whole model can be measured as it stands
  const full = params.method === 'full';
  const policy = full
    ? null
    : adapterSpec(params, { stream: 'lora', scalarHead: needs.scalarHead ?? false }, 0);
  const trained = await withAdapter(request, policy, async (adapter, before) => {
    const weights = { model: model.id, adapter: adapter?.info.id ?? null };
    const prompts = askedPrompts(request);
    const sampled = prompts.length === 0 ? null : await sample(request, weights, prompts, signal);
    const judged: { rows: TrainRow[]; trainedShare: number } =
      sampled && needs.data === 'rollouts'
        ? await judgedRows(request, sampled.rows)
        : { rows: datasetRows(request.data), trainedShare: 1 };
    return {
      rows: judged.rows,
      rates: {
        ...(sampled?.rates ?? noSampling),
        trainedShare: judged.trainedShare,
        policy: {
          ...(await trainSome(request, programs.policy, adapter?.info ?? null, judged.rows, before, signal)),
          adapter: adapter?.numbers ?? null,
        },
        scoring: sampled && (await scoreSome(request, sampled.rows, signal)),
      },
    };
  });
  const critic =
    needs.critic && programs.critic
      ? await withAdapter(
          request,
          adapterSpec(params, { stream: 'critic', scalarHead: true }, 0),
          async (adapter, before) => ({
            ...(await trainSome(request, programs.critic!, adapter!.info, trained.rows, before, signal)),
            adapter: adapter!.numbers,
          }),
        )
      : null;
  return { ...trained.rates, critic };
}

/** Works with a new adapter, or none, that is gone afterwards. `before`: bytes that were in use without it. */
export async function withAdapter<T>(
  { engine, model }: ProbeRequest,
  spec: LoraSpec | null,
  work: (adapter: { info: AdapterInfo; numbers: AdapterNumbers } | null, before: number) => Promise<T>,
): Promise<T> {
  await engine.clearCache();
  const before = (await engine.stats()).activeBytes;
  if (spec === null) return work(null, before);
  const larger = await engine.createAdapter(model.id, { ...spec, rank: spec.rank + 1 });
  await engine.unloadAdapter(larger.id);
  const info = await engine.createAdapter(model.id, spec);
  const perRank = larger.parameters - info.parameters;
  try {
    return await work({ info, numbers: { perRank, fixed: info.parameters - perRank * spec.rank } }, before);
  } finally {
    await engine.unloadAdapter(info.id);
  }
}
