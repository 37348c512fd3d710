import type { Engine } from '../../../native/face';
import type { RoleModel } from '../../../shared/contract/runs';
import { AtelierError } from '../../../shared/rpc';
import type { EngineHost } from '../system';
import { sequencesOf, type RunData, type TrainJob } from '../train';
import type { Sources, UsableModel } from './sources';

/** Folder of a run's checkpoint, the newest where none is named. */
export type AdapterFolder = (run: string, checkpoint: number | undefined) => Promise<string>;

interface Held {
  role: NonNullable<TrainJob['teacher']>;
  release(): Promise<void>;
}

/** Sequences that both tokenizers must read alike. */
const COMPARED = 16;

/**
 * The teacher in memory until `release`, with an adapter of its own: one that a chat holds could go at any time.
 * @throws AtelierError where it is not there or reads tokens differently than the student
 */
export async function openTeacher(
  chosen: RoleModel,
  student: UsableModel,
  data: RunData,
  from: { sources: Sources; engineHost: EngineHost; engine: Engine; adapterFolder: AdapterFolder },
): Promise<Held> {
  const model = await from.sources.model(chosen.model);
  for (const ids of data.rows.slice(0, COMPARED).flatMap(sequencesOf)) {
    if ((await model.text.decode(ids)) === (await student.text.decode(ids))) continue;
    throw new AtelierError(
      'invalid_input',
      `${model.name} has another tokenizer than ${student.name}: what one writes is other text to the other.`,
      'Choose a teacher of the same family.',
      { path: 'teacher' },
    );
  }
  const lease = await from.engineHost.acquire(model.path, model.bytes);
  try {
    const { adapter } = chosen;
    const folder = adapter && (await from.adapterFolder(adapter.run, adapter.checkpoint));
    const loaded = folder === null ? null : await from.engine.loadAdapter(lease.model.id, folder);
    return {
      role: { model: lease.model.id, adapter: loaded?.id ?? null },
      async release() {
        if (loaded) await from.engine.unloadAdapter(loaded.id);
        lease.release();
      },
    };
  } catch (error) {
    lease.release();
    throw error;
  }
}
