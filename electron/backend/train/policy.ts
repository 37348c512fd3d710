import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import type { AdapterId, AdapterInfo, OptimizerId } from '../../../native/face';
import { ADAMW, LORA_TARGETS, SAVED_MODULES } from '../../../shared/algorithms';
import { AtelierError } from '../../../shared/rpc';
import { checkRoom, latestCheckpoint, readManifest, writeCheckpoint } from '../store';
import { sequencesOf } from '../datasets';
import type { TrainJob } from './job';
import { draw } from './random';

/** What is trained, and how far it has come. */
export interface Policy {
  adapter: AdapterId;
  parameters: number;
  description: Pick<AdapterInfo, 'modules' | 'saved'>;
  optimizer: OptimizerId;
  /** Steps done. */
  step: number;
  /** Damaged checkpoints that were passed over. */
  passed: number[];
}

/** Everything else a step depends on is a function of the configuration and the step. */
const State = z.object({ format: z.literal(1), step: z.number().int() });

/** A new adapter, or the one of the newest whole checkpoint with its optimiser. */
export async function openPolicy(job: TrainJob): Promise<Policy> {
  const { engine, model, params } = job;
  const latest = await latestCheckpoint(job.folder, job.store);
  if (latest.checkpoint) await checkBelongs(job, latest.folder);
  const info = latest.checkpoint
    ? await engine.loadAdapter(model.id, latest.folder)
    : await engine.createAdapter(model.id, {
        rank: params.loraRank,
        alpha: params.loraAlpha,
        targetModules: LORA_TARGETS[params.loraTargets],
        rslora: params.rsLora,
        dora: params.dora,
        modulesToSave: SAVED_MODULES[params.savedModules],
        seed: draw(job.config.seed, 'lora', 0),
      });
  const { id: adapter, parameters } = info;
  let optimizer: OptimizerId | undefined;
  try {
    optimizer = await engine.createOptimizer(
      { kind: 'adapter', adapter },
      { kind: 'adamw', ...ADAMW, weightDecay: params.weightDecay },
    );
    const policy = { adapter, parameters, description: info, optimizer, step: 0, passed: latest.passed };
    if (!latest.checkpoint) return policy;
    await engine.loadOptimizer(optimizer, join(latest.folder, 'optimizer.safetensors'));
    const state = State.parse(JSON.parse(await readFile(join(latest.folder, 'state.json'), 'utf8')));
    return { ...policy, step: state.step };
  } catch (error) {
    // The engine outlives the run: what it holds for one that does not start would stay.
    if (optimizer !== undefined) await engine.freeOptimizer(optimizer);
    await engine.unloadAdapter(adapter);
    throw error;
  }
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
const checkpointBytes = ({ parameters }: Policy) => parameters * 4 * 3 + 1024 * 1024;

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
  const broken = (await engine.adapterNorms(policy.adapter)).find(
    ({ maxA, maxB }) => !Number.isFinite(maxA) || !Number.isFinite(maxB),
  );
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
      await engine.saveAdapter(policy.adapter, join(folder, 'adapter_model.safetensors'));
      await job.describeAdapter(folder, policy.description);
      await engine.saveOptimizer(policy.optimizer, join(folder, 'optimizer.safetensors'));
      const state: z.infer<typeof State> = { format: 1, step: policy.step };
      await writeFile(join(folder, 'state.json'), JSON.stringify(state));
    },
  });
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
    const live = await engine.logits({ model: model.id, adapter: policy.adapter, rows, positions: 'last' });
    const saved = await engine.logits({ model: model.id, adapter: reloaded.id, rows, positions: 'last' });
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
  await job.engine.freeOptimizer(policy.optimizer);
  await job.engine.unloadAdapter(policy.adapter);
}
