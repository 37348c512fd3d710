import { createHash } from 'node:crypto';
import type { Engine, ModelInfo } from '../../../native/face';
import type { RoleModel, RunConfig } from '../../../shared/contract/runs';
import { AtelierError } from '../../../shared/rpc';
import { sequencesOf } from '../datasets';
import type { EngineHost } from '../system';
import {
  scoreOfRows,
  type RunData,
  type Sample,
  type Score,
  type TrainJob,
  type WeightedScorer,
  type Weights,
} from '../train';
import type { OtherRuns } from './other-runs';
import type { Sources, UsableModel } from './sources';

export interface RolesFrom {
  sources: Sources;
  engineHost: EngineHost;
  engine: Engine;
  runs: OtherRuns;
  microTokens: number;
}

/** A role that is in memory until `release`. */
export interface Held<Role> {
  role: Role;
  /** The model, and bytes of what it has been taught beside it. */
  model: ModelInfo;
  adapterBytes: number;
  release(): Promise<void>;
}

/** Sequences that both tokenizers must read alike. */
const COMPARED = 16;

/** A model with an adapter of its own: one that a chat holds could go at any time. */
async function open(
  { adapter }: RoleModel,
  model: UsableModel,
  { engineHost, engine, runs }: RolesFrom,
): Promise<Held<Weights & { scalarHead: boolean }>> {
  const taught = adapter && (await runs.taught(adapter, 'hashes'));
  const lease = await engineHost.acquire(
    taught?.kind === 'model' ? taught.folder : model.path,
    model.bytes,
    // an adapter fits the numbers that it was trained beside
    taught?.kind === 'adapter' ? taught.weights : 'stored',
  );
  try {
    const loaded =
      taught?.kind === 'adapter' ? await engine.loadAdapter(lease.model.id, taught.folder) : null;
    const scalarHead = loaded?.scalarHead ?? lease.model.scalarHead;
    return {
      role: { model: lease.model.id, adapter: loaded?.id ?? null, scalarHead },
      model: lease.model,
      // f32
      adapterBytes: (loaded?.parameters ?? 0) * 4,
      async release() {
        if (loaded) await engine.unloadAdapter(loaded.id);
        lease.release();
      },
    };
  } catch (error) {
    lease.release();
    throw error;
  }
}

/** @throws AtelierError where it is not there or reads tokens differently than the student */
export async function openTeacher(
  chosen: RoleModel,
  student: UsableModel,
  data: RunData,
  from: RolesFrom,
): Promise<Held<NonNullable<TrainJob['teacher']>>> {
  const model = await from.sources.model(chosen.model);
  const count = Math.min(COMPARED, data.rows.length);
  const some = Array.from({ length: count }, (_, k) => data.rows.at(k)!).flatMap(sequencesOf);
  for (const ids of some) {
    if ((await model.text.decode(ids)) === (await student.text.decode(ids))) continue;
    throw new AtelierError(
      'invalid_input',
      `${model.name} has another tokenizer than ${student.name}: what one writes is other text to the other.`,
      'Choose a teacher of the same family.',
      { path: 'teacher' },
    );
  }
  const held = await open(chosen, model, from);
  return { ...held, role: { model: held.role.model, adapter: held.role.adapter } };
}

/** A reward model as one of a run's rewards. @throws AtelierError where it is not there or gives no scores */
export async function openRewardModel(
  chosen: NonNullable<RunConfig['rewardModel']>,
  from: RolesFrom,
): Promise<Held<WeightedScorer>> {
  const model = await from.sources.model(chosen.model);
  const held = await open(chosen, model, from);
  const { scalarHead, ...weights } = held.role;
  if (!scalarHead) {
    await held.release();
    throw new AtelierError('invalid_file', `${model.name}: what was opened has no scalar head.`, undefined, {
      path: 'rewardModel',
    });
  }
  const job = { engine: from.engine, microTokens: from.microTokens };
  return {
    ...held,
    role: {
      name: 'model',
      weight: chosen.weight,
      scorer: {
        hash: createHash('sha256')
          .update(JSON.stringify([chosen, model.hash, model.templateHash]))
          .digest('hex'),
        takes: 'all',
        score: (samples, _key, signal) => scoreConversations(samples, model, job, weights, from, signal),
      },
    },
  };
}

/**
 * Each conversation as the reward model's own template and tokenizer write it, scored at its end: the policy may have
 * others. As trl 1.16.0 (GRPOTrainer) does, with the tokenizer of the reward.
 */
async function scoreConversations(
  samples: Sample[],
  model: UsableModel,
  job: Pick<TrainJob, 'engine' | 'microTokens'>,
  weights: Weights,
  { sources }: RolesFrom,
  signal: AbortSignal,
): Promise<Score[]> {
  const start = performance.now();
  const written = await Promise.all(
    samples.map(async ({ prompt, completion }): Promise<Int32Array | AtelierError> => {
      try {
        const messages = [...prompt.messages, { role: 'assistant', content: completion }];
        const ids = await sources.conversation(model, messages);
        if (ids.length <= model.contextLength) return ids;
        throw new AtelierError(
          'invalid_data',
          `${ids.length} tokens; ${model.name} reads at most ${model.contextLength}`,
        );
      } catch (error) {
        if (error instanceof AtelierError && error.code !== 'internal') return error;
        throw error;
      }
    }),
  );
  const rows = written.filter((one): one is Int32Array => one instanceof Int32Array);
  const scores = await scoreOfRows(job, weights, rows, signal);
  const milliseconds = (performance.now() - start) / samples.length;
  let next = 0;
  return written.map((one): Score => {
    if (one instanceof AtelierError)
      return { reward: null, status: 'error', error: one.message, milliseconds };
    const reward = scores[next++]!;
    return Number.isFinite(reward)
      ? { reward, status: 'ok', milliseconds }
      : { reward: null, status: 'nonfinite', error: 'The score is not finite.', milliseconds };
  });
}
