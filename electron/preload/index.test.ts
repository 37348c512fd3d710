import { afterEach, expect, it, vi } from 'vitest';
import { desktopChannels, portMessage } from '../../shared/contract/desktop';

type Listener = (event: { ports: unknown[]; sender?: unknown }, ...args: unknown[]) => void;
const electron = vi.hoisted(() => ({
  exposed: new Map<string, Record<string, unknown>>(),
  listeners: new Map<string, Listener>(),
  sent: [] as unknown[][],
}));
vi.mock('electron', () => ({
  contextBridge: {
    exposeInMainWorld: (name: string, api: Record<string, unknown>) => electron.exposed.set(name, api),
  },
  ipcRenderer: {
    on: (channel: string, listener: Listener) => electron.listeners.set(channel, listener),
    send: (...args: unknown[]) => void electron.sent.push(args),
    invoke: async (...args: unknown[]) => void electron.sent.push(args),
  },
}));
await import('./index');
afterEach(() => vi.unstubAllGlobals());

it('gives the page the desktop’s verbs and nothing else, each with its one argument on its own channel', () => {
  const { port: _toPage, ...verbs } = desktopChannels;
  expect([...electron.exposed.keys()]).toEqual(['atelier']);
  const { platform, ...api } = electron.exposed.get('atelier')!;
  expect(platform).toBe(process.platform);
  expect(Object.keys(api).sort()).toEqual(Object.keys(verbs).sort());
  for (const verb of Object.values(api)) (verb as (...args: unknown[]) => unknown)('one', 'two');
  expect(electron.sent.map(([channel]) => channel).sort()).toEqual(Object.values(verbs).sort());
  for (const [, ...args] of electron.sent) expect(args.length === 0 || args.join() === 'one').toBe(true);
});

it('hands the port over to a page of our origin alone, without Electron’s event', () => {
  const posted: unknown[][] = [];
  vi.stubGlobal('postMessage', (...args: unknown[]) => posted.push(args));
  const port = { port: true };
  const arrive = electron.listeners.get(desktopChannels.port)!;
  for (const origin of ['https://example.org', 'app://atelier.evil', 'null']) {
    vi.stubGlobal('location', { origin });
    arrive({ ports: [port], sender: 'ipc' });
  }
  expect(posted).toEqual([]);
  vi.stubGlobal('location', { origin: 'app://atelier' });
  arrive({ ports: [port], sender: 'ipc' }, 'more');
  expect(posted).toEqual([[{ type: portMessage }, 'app://atelier', [port]]]);
  expect([...electron.listeners.keys()]).toEqual([desktopChannels.port]);
});
