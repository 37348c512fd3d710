import type { Device, Rows } from '../../../native/face';
import type { BaseWeights } from '../../../shared/algorithms';
import { AtelierError } from '../../../shared/rpc';
import type { HostSpawn } from '../../supervise/host-spawn';
import type { Compared } from './outputs';

export interface VerifyRequest {
  device: Device;
  model: string;
  /** PEFT folder; null: the model alone. */
  adapter: string | null;
  weights: BaseWeights;
  rows: Rows;
  what: Compared;
}

export type VerifyAnswer = { outputs: Float32Array } | { error: string };

const PATIENCE_MS = 10 * 60 * 1000;

/** Last-position logits (or scores) of what was written, computed by a process that has seen nothing of it. */
export async function verifyInFreshProcess(spawn: HostSpawn, request: VerifyRequest): Promise<Float32Array> {
  const child = await spawn('verify');
  try {
    const answer = await new Promise<VerifyAnswer>((resolve, reject) => {
      const late = setTimeout(
        () => reject(new AtelierError('internal', 'The check of the export took too long.')),
        PATIENCE_MS,
      );
      child.onExit((code, signal) => {
        clearTimeout(late);
        reject(new AtelierError('internal', `The check of the export ended (${signal ?? `code ${code}`}).`));
      });
      child.port.onMessage((message) => {
        clearTimeout(late);
        resolve(message as VerifyAnswer);
      });
      void child.port.post(request);
    });
    if ('error' in answer)
      throw new AtelierError('invalid_file', `The export cannot be loaded again: ${answer.error}`);
    return answer.outputs;
  } finally {
    child.kill('SIGKILL');
  }
}
