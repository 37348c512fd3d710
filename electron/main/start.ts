import { join } from 'node:path';
import { app, BrowserWindow, dialog, nativeTheme, protocol, session } from 'electron';
import { desktopChannels } from '../../shared/contract/desktop';
import { PageFiles } from '../page';
import { Backend } from './backend';
import { answerDesktopVerbs } from './dialogs';
import { backendEnvironment } from './environment';
import { denyPermissions, pinAllPages } from './hardening';
import { listen } from './ipc';
import { setMenu } from './menu';
import { scheme } from './origin';
import { pageHandler } from './page-response';
import { openWindow } from './window';

export interface StartOptions {
  /** Folder of the bundles and of the built page (dist). */
  dist: string;
  /** Folder of the bundled models, data and engine. */
  resources: string;
}

/** Everything that must happen before Electron is ready, then the app. Resolves when the window is open. */
export async function start({ dist, resources }: StartOptions): Promise<Backend | null> {
  if (!app.requestSingleInstanceLock()) {
    app.quit();
    return null;
  }
  app.enableSandbox();
  protocol.registerSchemesAsPrivileged([
    { scheme, privileges: { standard: true, secure: true, supportFetchAPI: true } },
  ]);
  pinAllPages();

  await app.whenReady();
  denyPermissions(session.defaultSession);
  protocol.handle(scheme, pageHandler(new PageFiles(join(dist, 'renderer'))));
  answerDesktopVerbs();

  const backend = new Backend({
    bundles: {
      backend: join(dist, 'backend/utility.js'),
      reward: join(dist, 'backend/reward-host.js'),
      template: join(dist, 'backend/template-host.js'),
      verify: join(dist, 'backend/verify.js'),
      rank: join(dist, 'backend/rank.js'),
    },
    env: backendEnvironment(process.env, resources),
    onState: (state) => {
      if (state.state === 'failed')
        dialog.showErrorBox(
          'The engine does not start',
          `${state.reason}. Restart Atelier; if it happens again, logs/backend.log in its data folder tells more.`,
        );
    },
  });
  backend.start();
  listen(desktopChannels.connect, (event) => backend.introduce(event.sender));

  setMenu();
  const open = (): BrowserWindow =>
    openWindow(join(dist, 'preload/index.cjs'), nativeTheme.shouldUseDarkColors);
  open();
  app.on('second-instance', () => {
    const window = BrowserWindow.getAllWindows()[0] ?? open();
    if (window.isMinimized()) window.restore();
    window.focus();
  });
  app.on('activate', () => {
    if (BrowserWindow.getAllWindows().length === 0) open();
  });
  // A run goes on without a window; without a run there is nothing to stay for, except on macOS by custom.
  app.on('window-all-closed', () => {
    if (process.platform !== 'darwin' && backend.working === null) app.quit();
  });
  askBeforeQuitting(backend);
  return backend;
}

/** Quitting ends a run at its last checkpoint: the person decides, and the backend gets time to close. */
function askBeforeQuitting(backend: Backend): void {
  let leaving = false;
  app.on('before-quit', (event) => {
    if (leaving) return;
    event.preventDefault();
    void confirmed(backend).then(async (yes) => {
      if (!yes) return;
      leaving = true;
      await backend.stop();
      app.quit();
    });
  });
}

async function confirmed(backend: Backend): Promise<boolean> {
  if (backend.working === null) return true;
  const { response } = await dialog.showMessageBox({
    type: 'warning',
    message: `“${backend.working}” is running`,
    detail: 'If you quit, it stops at its last checkpoint and resumes when you open Atelier again.',
    buttons: ['Keep running', 'Quit'],
    defaultId: 0,
    cancelId: 0,
  });
  return response === 1;
}
