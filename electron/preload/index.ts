import { contextBridge, ipcRenderer } from 'electron';
import { desktopChannels, portMessage, type Desktop } from '../../shared/contract/desktop';

const pageOrigin = 'app://atelier';

// The event is stripped here: the page gets the port and nothing of Electron.
ipcRenderer.on(desktopChannels.port, (event) => {
  if (globalThis.location.origin === pageOrigin)
    globalThis.postMessage({ type: portMessage }, pageOrigin, [...event.ports]);
});

const desktop: Desktop = {
  platform: process.platform as Desktop['platform'],
  connect: () => ipcRenderer.send(desktopChannels.connect),
  chooseModel: (kind) => ipcRenderer.invoke(desktopChannels.chooseModel, kind),
  chooseDataset: () => ipcRenderer.invoke(desktopChannels.chooseDataset),
  chooseExportFolder: () => ipcRenderer.invoke(desktopChannels.chooseExportFolder),
  showInFolder: (path) => ipcRenderer.invoke(desktopChannels.showInFolder, path),
  openExternal: (url) => ipcRenderer.invoke(desktopChannels.openExternal, url),
};

contextBridge.exposeInMainWorld('atelier', desktop);
