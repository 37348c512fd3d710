// The desktop's backend process: Electron's main starts it, restarts it and introduces the pages.
import { desktopLink, type ParentPort } from '../../supervise/desktop-link';
import { chooseDevice, dataFolder } from '../system';
import { startBackend } from './backend';

const link = desktopLink((process as unknown as { parentPort: ParentPort }).parentPort);
const resources = process.env['ATELIER_RESOURCES'];

const starting = startBackend({
  home: dataFolder(),
  host: 'desktop',
  device: chooseDevice(process.env['ATELIER_DEVICE']),
  ...(resources ? { resources } : {}),
  pages: null,
  roots: null,
  spawn: link.spawn,
  restarted: process.argv.includes('--restarted'),
  onWorking: (run) => link.working(run),
});
// A page that comes before the backend is ready waits for it.
link.onPage((page) => void starting.then((backend) => backend.accept(page)));
process.on('SIGTERM', () => {
  void starting.then((backend) => backend.close()).finally(() => process.exit(0));
});
await starting;
link.ready();
