import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { EngineError, type OptimizerId } from '../../../native/face';
import type { Needs } from '../../../shared/algorithms';
import { AtelierError } from '../../../shared/rpc';
import { checkRoom, latestCheckpoint, readManifest, writeCheckpoint } from '../store';
import { openAdapter } from './adapter-subject';
import type { TrainJob, Weights } from './job';
import { openWholeModel } from './model-subject';
import { optimizerSpec } from './optimizer-spec';
import { proofRows } from './proof-rows';
import type { Subject } from './subject';

/** What one role trains, and its optimiser. */
export interface TrainedRole {
  subject: Subject;
  weights: Weights;
  /** null once training has ended. */
  optimizer: OptimizerId | null;
}

/** What is trained, and how far it has come. */
export interface Policy extends TrainedRole {
  critic: TrainedRole | null;
  /** What the policy is held against; null where nothing asks for it. */
  reference: Weights | null;
  /** Steps done. */
  step: number;
  /** Damaged checkpoints that were passed over. */
  passed: number[];
}

/** Of a checkpoint: what belongs to the critic. */
const CRITIC = 'critic';

/** Everything else a step depends on is a function of the configuration and the step. */
const State = z.object({ format: z.literal(1), step: z.number().int() });

/** What the settings say is trained, new or as the newest whole checkpoint has it, with its optimisers. */
export async function openPolicy(job: TrainJob, needs: Needs): Promise<Policy> {
  const latest = await latestCheckpoint(job.folder, job.store);
  if (latest.checkpoint) await checkBelongs(job, latest.folder);
  const from = latest.checkpoint ? latest.folder : null;
  const opened: TrainedRole[] = [];
  try {
    const scalarHead = needs.scalarHead ?? false;
    const subject =
      job.params.method === 'full'
        ? await openWholeModel(job, from)
        : await openAdapter(job, from, { stream: 'lora', scalarHead });
    opened.push(await openRole(job, subject, from));
    if (needs.critic) {
      const folder = from && join(from, CRITIC);
      const critic = await openAdapter(job, folder, { stream: 'critic', scalarHead: true });
      opened.push(await openRole(job, critic, folder));
    }
    const [policy, critic = null] = opened;
    const state = from ? State.parse(JSON.parse(await readFile(join(from, 'state.json'), 'utf8'))) : null;
    return {
      ...policy!,
      critic,
      reference: job.base && { model: job.base.id, adapter: null },
      step: state?.step ?? 0,
      passed: latest.passed,
    };
  } catch (error) {
    for (const one of opened) await closeRole(job, one);
    throw error;
  }
}

async function openRole(
  { engine, params }: TrainJob,
  subject: Subject,
  folder: string | null,
): Promise<TrainedRole> {
  let optimizer: OptimizerId | undefined;
  try {
    // a critic is an adapter, whatever the policy is
    const kind =
      subject.trainable.kind === 'adapter' && params.optimizer === 'muon' ? 'adamw' : params.optimizer;
    optimizer = await engine.createOptimizer(
      subject.trainable,
      optimizerSpec({ ...params, optimizer: kind }),
    );
    if (folder) await engine.loadOptimizer(optimizer, join(folder, 'optimizer.safetensors'));
    return { subject, weights: subject.weights, optimizer };
  } catch (error) {
    // The engine outlives the run: what it holds for one that does not start would stay.
    if (optimizer !== undefined) await engine.freeOptimizer(optimizer);
    await subject.close();
    throw error;
  }
}

async function freeOptimizer({ engine }: TrainJob, role: TrainedRole): Promise<void> {
  if (role.optimizer === null) return;
  await engine.freeOptimizer(role.optimizer);
  role.optimizer = null;
}

async function closeRole(job: TrainJob, role: TrainedRole): Promise<void> {
  await freeOptimizer(job, role);
  await role.subject.close();
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

/** Weights and two moments, f32: other optimisers and half precision take less. */
const checkpointBytes = ({ subject, critic }: Policy) =>
  (subject.parameters + (critic?.subject.parameters ?? 0)) * 4 * 3 + 1024 * 1024;

/** @throws AtelierError disk_full where no checkpoint would have room */
export async function checkCheckpointRoom(job: TrainJob, policy: Policy): Promise<void> {
  await checkRoom('A checkpoint', job.folder, checkpointBytes(policy));
}

/** The optimiser, while there is training. */
export function optimizerOf({ optimizer }: TrainedRole): OptimizerId {
  if (optimizer === null) throw new Error('training has ended');
  return optimizer;
}

/**
 * @throws AtelierError invalid_data where a weight or a state of an optimiser is not finite, else what the file
 * system or the engine says; `isDiskFull` tells a full disk.
 */
export async function saveCheckpoint(job: TrainJob, policy: Policy, reward: number | null): Promise<void> {
  await writeCheckpoint(job.folder, job.store, {
    step: policy.step,
    reward,
    belongsTo: job.belongsTo,
    expectedBytes: checkpointBytes(policy),
    keep: job.settings.keepCheckpoints,
    async fill(folder) {
      await saveRole(job, policy, policy.step, folder);
      if (policy.critic) {
        await mkdir(join(folder, CRITIC));
        await saveRole(job, policy.critic, policy.step, join(folder, CRITIC));
      }
      const state: z.infer<typeof State> = { format: 1, step: policy.step };
      await writeFile(join(folder, 'state.json'), JSON.stringify(state));
    },
  });
}

async function saveRole(job: TrainJob, role: TrainedRole, step: number, folder: string): Promise<void> {
  await role.subject.save(folder, step);
  try {
    await job.engine.saveOptimizer(optimizerOf(role), join(folder, 'optimizer.safetensors'));
  } catch (error) {
    if (!(error instanceof EngineError) || error.code !== 'non_finite') throw error;
    throw new AtelierError('invalid_data', `After step ${step}: ${error.message}.`, error.hint);
  }
}

/** What was saved must compute what the live policy computes, and must have moved. @throws AtelierError */
export async function proveSaved(job: TrainJob, policy: Policy): Promise<void> {
  if (!(await policy.subject.moved())) {
    throw new AtelierError(
      'invalid_data',
      'Nothing was learnt: the policy is as it began.',
      job.rewards.length > 0
        ? 'Either all answers of each group got the same reward, or none was rewarded, or all were cut off and left out: see Rollouts.'
        : 'The learning rate may be 0 or too small.',
    );
  }
  const latest = await latestCheckpoint(job.folder, job.store);
  if (latest.checkpoint?.step !== policy.step) {
    throw new AtelierError('io', 'The last checkpoint cannot be read back.', 'Resume to write it again.');
  }
  // a second copy of a whole model takes its place
  await freeOptimizer(job, policy);
  const reloaded = await policy.subject.reload(latest.folder);
  try {
    const rows = proofRows(job);
    const live = await policy.subject.outputs(policy.weights, rows);
    const saved = await policy.subject.outputs(reloaded.weights, rows);
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
        'What was saved gives other logits than the trained policy.',
        'The previous checkpoint is kept.',
      );
    }
  } finally {
    await reloaded.close();
  }
}

export async function closePolicy(job: TrainJob, policy: Policy): Promise<void> {
  await closeRole(job, policy);
  if (policy.critic) await closeRole(job, policy.critic);
}
