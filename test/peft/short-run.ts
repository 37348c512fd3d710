import { openLocal } from '../../electron/headless/local';
import type { Device } from '../../native';
import type { ExportForm, RunConfigInput } from '../../shared/contract/runs';

/** Trains into the data folder `home` and exports in these forms; the folders. */
export async function shortRun(
  home: string,
  device: Device,
  config: RunConfigInput,
  forms: ExportForm[],
): Promise<string[]> {
  const local = await openLocal({ home, device });
  try {
    const { id } = await local.client.runs.start(config);
    for await (const item of local.client.runs.follow({ id }))
      if (item.kind === 'state' && item.status === 'failed') throw new Error(item.message);
    const folders: string[] = [];
    for (const as of forms)
      for await (const item of local.client.runs.export({ id, as })) {
        if (item.kind !== 'done') continue;
        if (!item.verified) throw new Error(`${config.name}, ${as.kind}: ${item.message}`);
        folders.push(item.path);
      }
    if (folders.length < forms.length) throw new Error(`${config.name}: not everything was exported`);
    return folders;
  } finally {
    await local.close();
  }
}
