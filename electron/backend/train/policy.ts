import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import type { AdapterId, AdapterInfo, OptimizerId } from '../../../native/face';
import { ADAMW, LORA_TARGETS, SAVED_MODULES, type Needs } from '../../../shared/algorithms';
import { AtelierError } from '../../../shared/rpc';
import { checkRoom, latestCheckpoint, readManifest, writeCheckpoint } from '../store';
import { sequencesOf } from '../datasets';
import type { TrainJob } from './job';
import { draw } from './random';

/** An adapter and its optimiser. */
export interface TrainedAdapter extends Pick<AdapterInfo, 'modules' | 'saved' | 'parameters' | 'scalarHead'> {
  adapter: AdapterId;
  optimizer: OptimizerId;
}

/** What is trained, and how far it has come. */
export interface Policy extends TrainedAdapter {
  critic: TrainedAdapter | null;
  /** Steps done. */
  step: number;
  /** Damaged checkpoints that were passed over. */
  passed: number[];
}

/** Of a checkpoint: what belongs to the critic. */
const CRITIC = 'critic';

/** Everything else a step depends on is a function of the configuration and the step. */
const State = z.object({ format: z.literal(1), step: z.number().int() });

/** New adapters, or those of the newest whole checkpoint with their optimisers. */
export async function openPolicy(job: TrainJob, needs: Needs): Promise<Policy> {
  const latest = await latestCheckpoint(job.folder, job.store);
  if (latest.checkpoint) await checkBelongs(job, latest.folder);
  const from = latest.checkpoint ? latest.folder : null;
  const opened: TrainedAdapter[] = [];
  try {
    opened.push(await openAdapter(job, from, { stream: 'lora', scalarHead: needs.scalarHead ?? false }));
    if (needs.critic)
      opened.push(await openAdapter(job, from && join(from, CRITIC), { stream: 'critic', scalarHead: true }));
    const [policy, critic = null] = opened;
    const state = from ? State.parse(JSON.parse(await readFile(join(from, 'state.json'), 'utf8'))) : null;
    return { ...policy!, critic, step: state?.step ?? 0, passed: latest.passed };
  } catch (error) {
    for (const one of opened) await closeAdapter(job, one);
    throw error;
  }
}

async function openAdapter(
  { engine, model, params, config }: TrainJob,
  folder: string | null,
  made: { stream: 'lora' | 'critic'; scalarHead: boolean },
): Promise<TrainedAdapter> {
  const { id: adapter, ...info } = folder
    ? await engine.loadAdapter(model.id, folder)
    : await engine.createAdapter(model.id, {
        rank: params.loraRank,
        alpha: params.loraAlpha,
        targetModules: LORA_TARGETS[params.loraTargets],
        rslora: params.rsLora,
        ...(made.stream === 'lora' && {
          dora: params.dora,
          modulesToSave: SAVED_MODULES[params.savedModules],
        }),
        seed: draw(config.seed, made.stream, 0),
        ...(made.scalarHead && { scalarHead: true }),
      });
  let optimizer: OptimizerId | undefined;
  try {
    optimizer = await engine.createOptimizer(
      { kind: 'adapter', adapter },
      { kind: 'adamw', ...ADAMW, weightDecay: params.weightDecay },
    );
    if (folder) await engine.loadOptimizer(optimizer, join(folder, 'optimizer.safetensors'));
    return { ...info, adapter, optimizer };
  } catch (error) {
    // The engine outlives the run: what it holds for one that does not start would stay.
    if (optimizer !== undefined) await engine.freeOptimizer(optimizer);
    await engine.unloadAdapter(adapter);
    throw error;
  }
}

async function closeAdapter({ engine }: TrainJob, { adapter, optimizer }: TrainedAdapter): Promise<void> {
  await engine.freeOptimizer(optimizer);
  await engine.unloadAdapter(adapter);
}

async function checkBelongs(job: TrainJob, folder: string): Promise<void> {
  const { belongsTo } = await readManifest(folder);
  const changed = Object.keys(job.belongsTo).filter((key) => belongsTo[key] !== job.belongsTo[key]);
  if (changed.length === 0) return;
  throw new AtelierError(
    'conflict',
    `Since the last checkpoint this has changed: ${changed.join(', ')}. Going on would mix two runs.`,
    'Put back what has changed, or start a new run.',
  );
}

/** Adapter and two moments, f32. */
const checkpointBytes = ({ parameters, critic }: Policy) =>
  (parameters + (critic?.parameters ?? 0)) * 4 * 3 + 1024 * 1024;

/** @throws AtelierError disk_full where no checkpoint would have room */
export async function checkCheckpointRoom(job: TrainJob, policy: Policy): Promise<void> {
  await checkRoom('A checkpoint', job.folder, checkpointBytes(policy));
}

/**
 * @throws AtelierError invalid_data where a weight is not finite, else what the file system or the engine says;
 * `isDiskFull` tells a full disk.
 */
export async function saveCheckpoint(job: TrainJob, policy: Policy, reward: number | null): Promise<void> {
  const { engine } = job;
  const trained = [policy, ...(policy.critic ? [policy.critic] : [])];
  const norms = await Promise.all(trained.map(({ adapter }) => engine.adapterNorms(adapter)));
  const broken = norms.flat().find(({ maxA, maxB }) => !Number.isFinite(maxA) || !Number.isFinite(maxB));
  if (broken) {
    throw new AtelierError(
      'invalid_data',
      `The adapter's weights of ${broken.name} are not finite after step ${policy.step}: they are not saved.`,
      'The checkpoint before is kept. A lower learning rate usually helps.',
    );
  }
  await writeCheckpoint(job.folder, job.store, {
    step: policy.step,
    reward,
    belongsTo: job.belongsTo,
    expectedBytes: checkpointBytes(policy),
    keep: job.settings.keepCheckpoints,
    async fill(folder) {
      await saveAdapter(job, policy, folder);
      if (policy.critic) {
        await mkdir(join(folder, CRITIC));
        await saveAdapter(job, policy.critic, join(folder, CRITIC));
      }
      const state: z.infer<typeof State> = { format: 1, step: policy.step };
      await writeFile(join(folder, 'state.json'), JSON.stringify(state));
    },
  });
}

async function saveAdapter(job: TrainJob, one: TrainedAdapter, folder: string): Promise<void> {
  await job.engine.saveAdapter(one.adapter, join(folder, 'adapter_model.safetensors'));
  await job.describeAdapter(folder, one);
  await job.engine.saveOptimizer(one.optimizer, join(folder, 'optimizer.safetensors'));
}

/** The saved adapter must give the live one's logits, and must have moved. @throws AtelierError */
export async function proveSaved(job: TrainJob, policy: Policy): Promise<void> {
  const { engine, model, data } = job;
  const norms = await engine.adapterNorms(policy.adapter);
  if (norms.every(({ maxB }) => maxB === 0)) {
    throw new AtelierError(
      'invalid_data',
      'Nothing was learnt: the adapter is as it began.',
      job.rewards.length > 0
        ? 'Either all answers of each group got the same reward, or none was rewarded, or all were cut off and left out: see Rollouts.'
        : 'The learning rate may be 0 or too small.',
    );
  }
  const latest = await latestCheckpoint(job.folder, job.store);
  if (latest.checkpoint?.step !== policy.step) {
    throw new AtelierError('io', 'The last checkpoint cannot be read back.', 'Resume to write it again.');
  }
  const reloaded = await engine.loadAdapter(model.id, latest.folder);
  try {
    const count = Math.min(4, data.rows.length);
    const some = Array.from({ length: count }, (_, k) => data.rows.at(k)!).flatMap(sequencesOf);
    const rows = {
      ids: Int32Array.from(some.flatMap((ids) => Array.from(ids))),
      lengths: Int32Array.from(some, ({ length }) => length),
    };
    const computed = async (adapter: AdapterId) =>
      policy.scalarHead
        ? (await engine.score({ model: model.id, adapter, rows, logp: false, score: true })).score!
        : engine.logits({ model: model.id, adapter, rows, positions: 'last' });
    const live = await computed(policy.adapter);
    const saved = await computed(reloaded.id);
    if (!live.every((value) => Number.isFinite(value))) {
      throw new AtelierError(
        'invalid_data',
        'The trained policy no longer computes finite numbers: its text has broken down.',
        'Start again with a lower learning rate. The checkpoints are kept.',
      );
    }
    if (!live.every((value, k) => Math.abs(value - saved[k]!) <= 1e-3)) {
      throw new AtelierError(
        'io',
        'The saved adapter gives other logits than the trained one.',
        'The previous checkpoint is kept.',
      );
    }
  } finally {
    await engine.unloadAdapter(reloaded.id);
  }
}

export async function closePolicy(job: TrainJob, policy: Policy): Promise<void> {
  await closeAdapter(job, policy);
  if (policy.critic) await closeAdapter(job, policy.critic);
}
