import { BrowserWindow, type BrowserWindowConstructorOptions } from 'electron';
import { origin } from './origin';

/** What every window of the app is made with; a test holds it against the security rules. */
export function windowOptions(preload: string, dark: boolean): BrowserWindowConstructorOptions {
  return {
    width: 1440,
    height: 900,
    minWidth: 960,
    minHeight: 640,
    show: false,
    title: 'Atelier',
    // The page's own surface, so that nothing flashes before its first paint.
    backgroundColor: dark ? '#15171a' : '#fbfbfc',
    titleBarStyle: process.platform === 'darwin' ? 'hiddenInset' : 'default',
    webPreferences: {
      preload,
      sandbox: true,
      contextIsolation: true,
      nodeIntegration: false,
      nodeIntegrationInWorker: false,
      nodeIntegrationInSubFrames: false,
      webviewTag: false,
      webSecurity: true,
      allowRunningInsecureContent: false,
      experimentalFeatures: false,
      navigateOnDragDrop: false,
      spellcheck: false,
      disableBlinkFeatures: 'Auxclick',
    },
  };
}

/** The only place that makes a window. */
export function openWindow(preload: string, dark: boolean): BrowserWindow {
  const window = new BrowserWindow(windowOptions(preload, dark));
  window.once('ready-to-show', () => window.show());
  void window.loadURL(`${origin}/`);
  return window;
}
