/**
 * What the desktop shell gives its page beside the backend's port: the few things only a desktop can do.
 * The preload exposes them as `window.atelier`; on the web host that is undefined.
 */
export interface Desktop {
  platform: 'darwin' | 'linux' | 'win32';
  /**
   * Asks the shell for a (new) port to the backend. It arrives as a window message `{ type: portMessage }`
   * from the page's own origin with one MessagePort.
   */
  connect(): void;
  /** The system's dialog for a model folder or one .gguf file (no dialog takes both on Linux); null when cancelled. */
  chooseModel(kind: 'folder' | 'gguf'): Promise<string | null>;
  chooseDataset(): Promise<string | null>;
  /** A folder to export into; null when cancelled. */
  chooseExportFolder(): Promise<string | null>;
  /** Shows a file or folder in the system's file manager. */
  showInFolder(path: string): Promise<void>;
  /** Opens an https: address in the system's browser after asking; false when refused. */
  openExternal(url: string): Promise<boolean>;
}

/** Type of the window message that hands the backend's port to the page. */
export const portMessage = 'atelier:port';

/** IPC channels between preload and main: nothing else is listened to. */
export const desktopChannels = {
  connect: 'atelier:connect',
  port: 'atelier:port',
  chooseModel: 'atelier:choose-model',
  chooseDataset: 'atelier:choose-dataset',
  chooseExportFolder: 'atelier:choose-export-folder',
  showInFolder: 'atelier:show-in-folder',
  openExternal: 'atelier:open-external',
} as const;
