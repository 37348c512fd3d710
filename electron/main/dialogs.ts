import { BrowserWindow, dialog, shell, type OpenDialogOptions } from 'electron';
import { z } from 'zod';
import { desktopChannels } from '../../shared/contract/desktop';
import { answer } from './ipc';

async function choose(options: OpenDialogOptions): Promise<string | null> {
  const window = BrowserWindow.getFocusedWindow();
  const result = window ? await dialog.showOpenDialog(window, options) : await dialog.showOpenDialog(options);
  return result.canceled ? null : (result.filePaths[0] ?? null);
}

/** Opens an address outside the app: https only, and never without showing its host first. */
async function openExternal(url: string): Promise<boolean> {
  let parsed: URL;
  try {
    parsed = new URL(url);
  } catch {
    return false;
  }
  if (parsed.protocol !== 'https:') return false;
  const { response } = await dialog.showMessageBox({
    type: 'question',
    message: `Open ${parsed.host} in your browser?`,
    detail: parsed.href,
    buttons: ['Open', 'Cancel'],
    defaultId: 0,
    cancelId: 1,
  });
  if (response !== 0) return false;
  await shell.openExternal(parsed.href);
  return true;
}

/** The page's desktop verbs (shared/contract/desktop.ts), each with its argument checked. */
export function answerDesktopVerbs(): void {
  const nothing = z.undefined();
  const path = z.string().min(1).max(4096);
  answer(desktopChannels.chooseModel, z.enum(['folder', 'gguf']), (kind) =>
    kind === 'folder'
      ? choose({ title: 'Add a model folder (config.json and safetensors)', properties: ['openDirectory'] })
      : choose({
          title: 'Add a GGUF file',
          properties: ['openFile'],
          filters: [{ name: 'GGUF', extensions: ['gguf'] }],
        }),
  );
  answer(desktopChannels.chooseDataset, nothing, () =>
    choose({
      title: 'Add a data set',
      properties: ['openFile'],
      filters: [
        {
          name: 'Data',
          extensions: ['jsonl', 'ndjson', 'json', 'csv', 'tsv', 'parquet', 'arrow', 'feather', 'ipc', 'gz'],
        },
        { name: 'All files', extensions: ['*'] },
      ],
    }),
  );
  answer(desktopChannels.chooseExportFolder, nothing, () =>
    choose({ title: 'Export into', properties: ['openDirectory', 'createDirectory'] }),
  );
  answer(desktopChannels.showInFolder, path, (file) => shell.showItemInFolder(file));
  answer(desktopChannels.openExternal, z.string().max(2048), openExternal);
}
