import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { app } from 'electron';
import { start } from './start';

const dist = dirname(dirname(fileURLToPath(import.meta.url)));
await start({ dist, resources: app.isPackaged ? process.resourcesPath : join(dist, '../resources') });
