import type { Rows } from '../../../native/face';
import type { TrainJob, Weights } from './job';
import { proofRows } from './proof-rows';
import type { Subject } from './subject';

/** All parameters of a model that is the run's alone. */
export async function openWholeModel(job: TrainJob, checkpoint: string | null): Promise<Subject> {
  const { engine } = job;
  const own = await job.openModel(checkpoint);
  const { id, parameters } = own.model;
  const weights: Weights = { model: id, adapter: null };
  const outputs = (of: Weights, rows: Rows) => engine.logits({ ...of, rows, positions: 'last' });
  try {
    const before = checkpoint === null ? await outputs(weights, proofRows(job)) : null;
    return {
      weights,
      trainable: { kind: 'full', model: id },
      parameters,
      save: (folder) => engine.saveModel(id, folder),
      still: () => Promise.resolve(null),
      async moved() {
        // what a checkpoint holds has been learnt
        if (before === null) return true;
        return (await outputs(weights, proofRows(job))).some((value, k) => value !== before[k]);
      },
      outputs,
      async reload(folder) {
        const again = await job.openModel(folder);
        return { weights: { model: again.model.id, adapter: null }, close: () => again.release() };
      },
      close: () => own.release(),
    };
  } catch (error) {
    await own.release();
    throw error;
  }
}
