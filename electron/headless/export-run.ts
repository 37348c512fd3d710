import type { AtelierContract } from '../../shared/contract';
import { AtelierError, type Client } from '../../shared/rpc';

/** Exports a run's newest checkpoint into the run's own folder. @returns the PEFT folder, read back and verified */
export async function exportRun(client: Client<AtelierContract>, id: string): Promise<string> {
  for await (const item of client.runs.export({ id })) {
    if (item.kind !== 'done') continue;
    if (!item.verified)
      throw new AtelierError('io', item.message ?? 'The exported adapter differs from the trained one.');
    return item.path;
  }
  throw new AtelierError('internal', 'The export ended without a result.');
}
