import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { app, dialog } from 'electron';
import { start } from './start';

const dist = dirname(dirname(fileURLToPath(import.meta.url)));
const resources = app.isPackaged ? process.resourcesPath : join(dist, '../resources');
// Not awaited: Electron is not ready before this module has ended, and start() waits until it is.
start({ dist, resources }).catch((error: Error) => {
  dialog.showErrorBox('Atelier does not start', error.stack ?? error.message);
  app.exit(1);
});
