import { AtelierError } from '../../../shared/rpc';
import { bytesWanted, files, isDiskFull } from '../store';
import { Interrupted } from './interrupt';
import type { TrainJob } from './job';

/** A write that failed for want of room is tried again once there is so much, or as much as it asked for. */
const ROOM_BYTES = 256 * 1024 * 1024;

/**
 * Writes; a full disk pauses the run until there is room or its person decides, then the same write is tried
 * again. `pause` waits, paused, and asks `until` now and then whether to go on.
 * @throws Interrupted where something else than to run is wanted, AtelierError disk_full where that is to stop
 */
export async function withRoom(
  job: TrainJob,
  step: number,
  write: () => void | Promise<void>,
  pause: (message: string, until: () => Promise<boolean>) => Promise<void>,
): Promise<void> {
  for (let attempt = 0; ; attempt++) {
    try {
      await write();
      return;
    } catch (error) {
      if (!isDiskFull(error)) throw error;
      const { message: text } = error as Error;
      const message = error instanceof AtelierError ? text : `The disk is full (${job.folder}): ${text}`;
      if (attempt === 0)
        noteIfPossible(() =>
          job.store.addEvent({
            step,
            level: 'error',
            code: 'disk_full',
            message,
            hint: 'Free some space: the run then goes on by itself. What is saved is kept.',
          }),
        );
      if (job.control.wish === 'stop') {
        throw new AtelierError('disk_full', message, 'The previous checkpoint is kept.');
      }
      if (job.control.wish === 'run') job.control.want('pause');
      const wanted = Math.max(ROOM_BYTES, bytesWanted(error));
      await pause(message, async () => (await files.freeBytes(job.folder)) > wanted);
      if (job.control.wish !== 'run') throw new Interrupted();
    }
  }
}

/** On a full disk the note of it may not fit either; the status tells it then. */
function noteIfPossible(note: () => void): void {
  try {
    note();
  } catch (error) {
    if (!isDiskFull(error)) throw error;
  }
}
