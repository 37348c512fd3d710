import { join } from 'node:path';
import type { LoraSpec } from '../../../native/face';
import { LORA_TARGETS, SAVED_MODULES, valuesByModule, type CommonParams } from '../../../shared/algorithms';
import { AtelierError } from '../../../shared/rpc';
import type { TrainJob } from './job';
import { draw } from './random';
import type { Subject } from './subject';

/** Whose adapter it is, which is also the stream that its first values are drawn from. */
interface Made {
  stream: 'lora' | 'critic';
  scalarHead: boolean;
}

/** A critic is plain LoRA, whatever the policy's adapter has beside. */
export const adapterSpec = (params: CommonParams, { stream, scalarHead }: Made, seed: number): LoraSpec => ({
  rank: params.loraRank,
  alpha: params.loraAlpha,
  targetModules: LORA_TARGETS[params.loraTargets],
  rslora: params.rsLora,
  ...(stream === 'lora' && {
    rankPattern: valuesByModule(params.loraRanks),
    alphaPattern: valuesByModule(params.loraAlphas),
    dora: params.dora,
    modulesToSave: SAVED_MODULES[params.savedModules],
  }),
  seed,
  ...(scalarHead && { scalarHead: true }),
});

/** A new adapter on the base, or that of a checkpoint's folder. */
export async function openAdapter(job: TrainJob, checkpoint: string | null, made: Made): Promise<Subject> {
  const { engine, params, base } = job;
  if (base === null) throw new Error('an adapter needs the model that it lies on');
  const model = base.id;
  const spec = adapterSpec(params, made, draw(job.config.seed, made.stream, 0));
  const info =
    checkpoint === null
      ? await engine.createAdapter(model, spec)
      : await engine.loadAdapter(model, checkpoint);
  const { id, parameters } = info;
  // the head of a base that is a reward model goes on where it stands
  const beginsAt0 = (module: string) => module !== 'score' || !base.scalarHead;
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
      await job.describeAdapter(folder, info, spec);
    },
    async still() {
      const norms = await engine.adapterNorms(id);
      return { names: norms.filter(({ maxB }) => maxB === 0).map(({ name }) => name), of: norms.length };
    },
    moved: async () =>
      (await engine.adapterNorms(id)).some((each) => beginsAt0(each.name) && each.maxB !== 0),
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
