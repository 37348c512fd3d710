import { createHash } from 'node:crypto';
import type { AdapterId, Engine, ModelInfo } from '../../../native/face';
import type { RoleModel, RunConfig } from '../../../shared/contract/runs';
import { AtelierError } from '../../../shared/rpc';
import { sequencesOf } from '../datasets';
import type { EngineHost, Taught } from '../system';
import {
  scoreOfRows,
  type RunData,
  type Sample,
  type Score,
  type TrainJob,
  type WeightedScorer,
  type Weights,
} from '../train';
import type { Sources, UsableModel } from './sources';

/** What a run's checkpoint holds, the newest where none is named. */
export type TaughtBy = (run: string, checkpoint: number | undefined) => Promise<Taught>;

export interface RolesFrom {
  sources: Sources;
  engineHost: EngineHost;
  engine: Engine;
  taught: TaughtBy;
  microTokens: number;
}

/** A role that is in memory until `release`. */
interface Held<Role> {
  role: Role;
  release(): Promise<void>;
}

/** Sequences that both tokenizers must read alike. */
const COMPARED = 16;

/** A model with an adapter of its own: one that a chat holds could go at any time. */
async function open(
  { adapter }: RoleModel,
  model: UsableModel,
  { engineHost, engine, taught: taughtBy }: RolesFrom,
): Promise<Held<{ model: ModelInfo; adapter: AdapterId | null; scalarHead: boolean }>> {
  const taught = adapter && (await taughtBy(adapter.run, adapter.checkpoint));
  const lease = await engineHost.acquire(taught?.kind === 'model' ? taught.folder : model.path, model.bytes);
  try {
    const loaded =
      taught?.kind === 'adapter' ? await engine.loadAdapter(lease.model.id, taught.folder) : null;
    const scalarHead = loaded?.scalarHead ?? lease.model.scalarHead;
    return {
      role: { model: lease.model, adapter: loaded?.id ?? null, scalarHead },
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
  const { role, release } = await open(chosen, model, from);
  return { role: { model: role.model.id, adapter: role.adapter }, release };
}

/** A reward model as one of a run's rewards. @throws AtelierError where it is not there or gives no scores */
export async function openRewardModel(
  chosen: NonNullable<RunConfig['rewardModel']>,
  from: RolesFrom,
): Promise<Held<WeightedScorer>> {
  const model = await from.sources.model(chosen.model);
  const { role, release } = await open(chosen, model, from);
  if (!role.scalarHead) {
    await release();
    throw new AtelierError(
      'invalid_input',
      `${model.name} gives no scores${chosen.adapter ? ', nor does what the run has taught it' : ''}.`,
      'Choose what a run of the algorithm Reward model has made.',
      { path: 'rewardModel' },
    );
  }
  const job = { engine: from.engine, microTokens: from.microTokens };
  const weights = { model: role.model.id, adapter: role.adapter };
  return {
    role: {
      name: 'model',
      weight: chosen.weight,
      scorer: {
        hash: createHash('sha256').update(JSON.stringify(chosen)).digest('hex'),
        score: (samples, _key, signal) => scoreConversations(samples, model, job, weights, from, signal),
      },
    },
    release,
  };
}

/** Each conversation as the reward model's own template writes it, scored at its end. */
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
    samples.map(async ({ prompt, completion }): Promise<Int32Array | Error> => {
      try {
        const asked = prompt.messages ?? [{ role: 'user', content: prompt.text }];
        const ids = await sources.conversation(model, [...asked, { role: 'assistant', content: completion }]);
        if (ids.length <= model.contextLength) return ids;
        return new Error(`${ids.length} tokens; ${model.name} reads at most ${model.contextLength}`);
      } catch (error) {
        return error as Error;
      }
    }),
  );
  const rows = written.filter((one): one is Int32Array => one instanceof Int32Array);
  const scores = await scoreOfRows(job, weights, rows, signal);
  const milliseconds = (performance.now() - start) / samples.length;
  let next = 0;
  return written.map((one): Score => {
    if (one instanceof Error) return { reward: null, status: 'error', error: one.message, milliseconds };
    const reward = scores[next++]!;
    return Number.isFinite(reward)
      ? { reward, status: 'ok', milliseconds }
      : { reward: null, status: 'nonfinite', error: 'The score is not finite.', milliseconds };
  });
}
