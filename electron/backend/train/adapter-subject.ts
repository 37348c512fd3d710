import { join } from 'node:path';
import { LORA_TARGETS, SAVED_MODULES } from '../../../shared/algorithms';
import { AtelierError } from '../../../shared/rpc';
import type { TrainJob } from './job';
import { draw } from './random';
import type { Subject } from './subject';

/** A new adapter on the base, or that of a checkpoint's folder. */
export async function openAdapter(
  job: TrainJob,
  checkpoint: string | null,
  made: { stream: 'lora' | 'critic'; scalarHead: boolean },
): Promise<Subject> {
  const { engine, params } = job;
  if (job.base === null) throw new Error('an adapter needs the model that it lies on');
  const model = job.base.id;
  const info =
    checkpoint === null
      ? await engine.createAdapter(model, {
          rank: params.loraRank,
          alpha: params.loraAlpha,
          targetModules: LORA_TARGETS[params.loraTargets],
          rslora: params.rsLora,
          ...(made.stream === 'lora' && {
            dora: params.dora,
            modulesToSave: SAVED_MODULES[params.savedModules],
          }),
          seed: draw(job.config.seed, made.stream, 0),
          ...(made.scalarHead && { scalarHead: true }),
        })
      : await engine.loadAdapter(model, checkpoint);
  const { id, parameters } = info;
  return {
    weights: { model, adapter: id },
    trainable: { kind: 'adapter', adapter: id },
    parameters,
    async save(folder, step) {
      const broken = (await engine.adapterNorms(id)).find(
        ({ maxA, maxB }) => !Number.isFinite(maxA) || !Number.isFinite(maxB),
      );
      if (broken) {
        throw new AtelierError(
          'invalid_data',
          `The adapter's weights of ${broken.name} are not finite after step ${step}: they are not saved.`,
          'The checkpoint before is kept. A lower learning rate usually helps.',
        );
      }
      await engine.saveAdapter(id, join(folder, 'adapter_model.safetensors'));
      await job.describeAdapter(folder, info);
    },
    async still() {
      const norms = await engine.adapterNorms(id);
      return { names: norms.filter(({ maxB }) => maxB === 0).map(({ name }) => name), of: norms.length };
    },
    moved: async () => (await engine.adapterNorms(id)).some(({ maxB }) => maxB !== 0),
    outputs: async (weights, rows) =>
      info.scalarHead
        ? (await engine.score({ ...weights, rows, logp: false, score: true })).score!
        : engine.logits({ ...weights, rows, positions: 'last' }),
    async reload(folder) {
      const { id: adapter } = await engine.loadAdapter(model, folder);
      return { weights: { model, adapter }, close: () => engine.unloadAdapter(adapter) };
    },
    close: () => engine.unloadAdapter(id),
  };
}
