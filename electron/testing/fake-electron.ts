import { EventEmitter } from 'node:events';
import { pathToFileURL } from 'node:url';
import { isMainThread, Worker } from 'node:worker_threads';
import { FakeMessageChannelMain, FakeMessagePortMain, nodePorts } from './fake-ports';

/**
 * A stand-in for the `electron` module, for machines without its binary. Every class and event used is held
 * against electron.d.ts; where Electron throws, it throws (utilityProcess outside main or before ready, a
 * transfer list with anything but ports).
 */
type Handler = (event: unknown, ...args: unknown[]) => unknown;

let ready = false;
let announceReady = (): void => {};
const whenReady = new Promise<void>((resolve) => (announceReady = resolve));

class FakeApp extends EventEmitter {
  isPackaged = false;
  sandboxed = false;
  switches: [string, string | undefined][] = [];
  quits = 0;
  commandLine = {
    appendSwitch: (name: string, value?: string) => void this.switches.push([name, value]),
  };
  whenReady = () => whenReady;
  isReady = () => ready;
  enableSandbox(): void {
    if (ready) throw new Error('app.enableSandbox() can only be called before app is ready');
    this.sandboxed = true;
  }
  requestSingleInstanceLock = () => true;
  getPath = (name: string) => `/fake/${name}`;
  getAppPath = () => process.cwd();
  getVersion = () => '0.0.0';
  quit(): void {
    this.quits++;
    const event = { defaultPrevented: false, preventDefault: () => void (event.defaultPrevented = true) };
    this.emit('before-quit', event);
    if (!event.defaultPrevented) this.emit('will-quit', event);
  }
}
export const app = new FakeApp();
app satisfies EventEmitter &
  Pick<
    Electron.App,
    'whenReady' | 'isReady' | 'enableSandbox' | 'requestSingleInstanceLock' | 'quit' | 'getVersion'
  >;

/** What app.whenReady() waits for: the test decides when. */
export function becomeReady(): void {
  ready = true;
  announceReady();
  app.emit('ready');
}

class FakeUtilityProcess extends EventEmitter {
  pid: number | undefined;
  /** Where it is asked for as a pipe. */
  readonly stderr: NodeJS.ReadableStream | null;
  private readonly worker: Worker;
  constructor(modulePath: string, args: string[], options: Electron.ForkOptions) {
    super();
    if (options.env === undefined)
      throw new Error('pass an explicit env: the default hands over the whole of process.env');
    this.worker = new Worker(new URL('./fake-utility.mjs', import.meta.url), {
      workerData: { module: pathToFileURL(modulePath).href, args },
      env: options.env as NodeJS.ProcessEnv,
      stdout: false,
      stderr: options.stdio?.[2] === 'pipe',
    });
    this.stderr = options.stdio?.[2] === 'pipe' ? this.worker.stderr : null;
    this.worker.on('online', () => {
      // Above every real one (at most 2^22), so that a signal to it hits nobody.
      this.pid = 10_000_000 + this.worker.threadId;
      this.emit('spawn');
    });
    this.worker.on('message', (message) => this.emit('message', message));
    this.worker.on('error', (error) => this.emit('error', 'FatalError', modulePath, String(error)));
    this.worker.on('exit', (code) => {
      this.pid = undefined;
      this.emit('exit', code);
    });
  }
  postMessage(data: unknown, transfer: FakeMessagePortMain[] = []): void {
    const ports = nodePorts(transfer);
    this.worker.postMessage({ data, ports }, ports);
  }
  kill(): boolean {
    void this.worker.terminate();
    return true;
  }
}
FakeUtilityProcess satisfies new (
  ...args: never[]
) => Pick<Electron.UtilityProcess, 'kill' | 'pid' | 'stderr'> & EventEmitter;

/** Processes forked so far. */
export const forked: FakeUtilityProcess[] = [];
export const utilityProcess = {
  fork(modulePath: string, args: string[] = [], options: Electron.ForkOptions = {}): FakeUtilityProcess {
    if (!isMainThread) throw new Error('utilityProcess is only there in the main process');
    if (!ready) throw new Error('utilityProcess.fork() can only be called after app is ready');
    const child = new FakeUtilityProcess(modulePath, args, options);
    forked.push(child);
    return child;
  },
};

export { FakeMessageChannelMain as MessageChannelMain };

export const ipcMain = {
  handlers: new Map<string, Handler>(),
  listeners: new Map<string, Handler>(),
  handle(channel: string, handler: Handler): void {
    if (this.handlers.has(channel))
      throw new Error(`Attempted to register a second handler for '${channel}'`);
    this.handlers.set(channel, handler);
  },
  on(channel: string, handler: Handler): void {
    this.listeners.set(channel, handler);
  },
};

class FakeWebContents extends EventEmitter {
  url = 'about:blank';
  posted: { channel: string; message: unknown; ports: FakeMessagePortMain[] }[] = [];
  openHandler: ((details: { url: string }) => { action: string }) | undefined;
  destroyed = false;
  session = session.defaultSession;
  getURL = () => this.url;
  isDestroyed = () => this.destroyed;
  setWindowOpenHandler(handler: (details: { url: string }) => { action: string }): void {
    this.openHandler = handler;
  }
  postMessage(channel: string, message: unknown, transfer: FakeMessagePortMain[] = []): void {
    nodePorts(transfer);
    this.posted.push({ channel, message, ports: transfer });
    this.emit('fake-posted');
  }
}
FakeWebContents satisfies new (
  ...args: never[]
) => Pick<Electron.WebContents, 'getURL' | 'isDestroyed'> & EventEmitter;

export class BrowserWindow extends EventEmitter {
  static all: BrowserWindow[] = [];
  static getAllWindows = () => BrowserWindow.all;
  static getFocusedWindow = () => BrowserWindow.all[0] ?? null;
  webContents = new FakeWebContents();
  shown = false;
  constructor(readonly options: Electron.BrowserWindowConstructorOptions) {
    super();
    if (!ready) throw new Error('Cannot create BrowserWindow before app is ready');
    BrowserWindow.all.push(this);
    app.emit('web-contents-created', {}, this.webContents);
  }
  async loadURL(url: string): Promise<void> {
    this.webContents.url = url;
    this.emit('ready-to-show');
  }
  show(): void {
    this.shown = true;
  }
  isMinimized = () => false;
  restore(): void {}
  focus(): void {}
  close(): void {
    BrowserWindow.all = BrowserWindow.all.filter((window) => window !== this);
    this.emit('closed');
    if (BrowserWindow.all.length === 0) app.emit('window-all-closed');
  }
}

type Permission = (contents: unknown, permission: string, third: unknown) => unknown;
class FakeSession {
  permissionRequest: Permission | null = null;
  permissionCheck: Permission | null = null;
  device: (() => boolean) | null = null;
  displayMedia: ((request: unknown, callback: (streams: object) => void) => void) | null = null;
  setPermissionRequestHandler = (handler: Permission | null) => void (this.permissionRequest = handler);
  setPermissionCheckHandler = (handler: Permission | null) => void (this.permissionCheck = handler);
  setDevicePermissionHandler = (handler: (() => boolean) | null) => void (this.device = handler);
  setDisplayMediaRequestHandler = (handler: typeof this.displayMedia) => void (this.displayMedia = handler);
}
export const session = { defaultSession: new FakeSession() };

export const protocol = {
  schemes: [] as Electron.CustomScheme[],
  handlers: new Map<string, (request: Request) => Response | Promise<Response>>(),
  registerSchemesAsPrivileged(schemes: Electron.CustomScheme[]): void {
    if (ready) throw new Error('protocol.registerSchemesAsPrivileged should be called before app is ready');
    this.schemes.push(...schemes);
  },
  handle(scheme: string, handler: (request: Request) => Response | Promise<Response>): void {
    if (!ready) throw new Error('protocol.handle can only be called after app is ready');
    this.handlers.set(scheme, handler);
  },
};

export const dialog = {
  /** What the person would answer. */
  answer: { open: { canceled: true, filePaths: [] as string[] }, box: 0 },
  shown: [] as unknown[],
  showOpenDialog: async (...args: unknown[]) => (dialog.shown.push(args.at(-1)), dialog.answer.open),
  showMessageBox: async (...args: unknown[]) => (
    dialog.shown.push(args.at(-1)),
    { response: dialog.answer.box, checkboxChecked: false }
  ),
  showErrorBox: (title: string, content: string) => void dialog.shown.push({ title, content }),
};

export const shell = {
  opened: [] as string[],
  shown: [] as string[],
  openExternal: async (url: string) => void shell.opened.push(url),
  showItemInFolder: (path: string) => void shell.shown.push(path),
};

export const powerSaveBlocker = {
  active: new Set<number>(),
  next: 1,
  start(_type: 'prevent-app-suspension' | 'prevent-display-sleep'): number {
    this.active.add(this.next);
    return this.next++;
  },
  stop(id: number): boolean {
    return this.active.delete(id);
  },
};
export const nativeTheme = { shouldUseDarkColors: false };
export const Menu = {
  set: 0,
  buildFromTemplate: (t: unknown) => t,
  setApplicationMenu: () => void Menu.set++,
};
