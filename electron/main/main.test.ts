import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { desktopChannels } from '../../shared/contract/desktop';
import * as fake from '../testing/fake-electron';
import { FakeMessagePortMain } from '../testing/fake-ports';
import type { Backend } from './backend';
import { start } from './start';

vi.mock('electron', () => import('../testing/fake-electron'));

/** Stands where the backend's bundle does: answers pages, asks for a helper, says that it works. */
const backendBundle = `
process.parentPort.on('message', ({ data, ports }) => {
  if (data.type === 'page') {
    const [port] = ports;
    port.on('message', ({ data }) => {
      if (data === 'work') process.parentPort.postMessage({ type: 'working', run: 'Sums' });
      if (data === 'die') process.exit(9);
      if (data === 'spawn') process.parentPort.postMessage({ type: 'spawn', request: 1, kind: 'reward' });
      if (data === 'spawn rank') process.parentPort.postMessage({ type: 'spawn', request: 2, kind: 'rank' });
      port.postMessage({ echo: data, env: Object.keys(process.env).sort() });
    });
    port.start();
  }
  if (data.type === 'exited') process.parentPort.postMessage({ type: 'working', run: data.words });
  if (data.type === 'spawned') {
    const [helper] = ports;
    helper.on('message', ({ data }) => process.parentPort.postMessage({ type: 'working', run: data }));
    helper.start();
  }
});
process.parentPort.postMessage({ type: 'ready' });
`;
const rewardBundle = `
process.parentPort.once('message', ({ ports: [port] }) => {
  port.start();
  port.postMessage('helper with ' + Object.keys(process.env).length + ' variables');
});
`;

/** As one of several GPUs' that fails. */
const rankBundle = `
process.parentPort.once('message', () => process.stderr.write('out of luck', () => process.exit(1)));
`;

const dist = mkdtempSync(join(tmpdir(), 'atelier-main-'));
let backend: Backend;
let page: fake.BrowserWindow['webContents'];

beforeAll(async () => {
  mkdirSync(join(dist, 'renderer'));
  mkdirSync(join(dist, 'backend'));
  writeFileSync(join(dist, 'package.json'), '{"type":"module"}');
  writeFileSync(join(dist, 'renderer/index.html'), '<!doctype html><title>Atelier</title>');
  writeFileSync(join(dist, 'backend/utility.js'), backendBundle);
  writeFileSync(join(dist, 'backend/reward-host.js'), rewardBundle);
  writeFileSync(join(dist, 'backend/rank.js'), rankBundle);
  const started = start({ dist, resources: '/res' });
  expect(fake.app.sandboxed).toBe(true);
  expect(fake.protocol.schemes).toEqual([
    { scheme: 'app', privileges: { standard: true, secure: true, supportFetchAPI: true } },
  ]);
  expect(fake.forked).toHaveLength(0);
  fake.becomeReady();
  backend = (await started)!;
  page = fake.BrowserWindow.all[0]!.webContents;
});
afterAll(() => backend.stop());

const ours = { url: 'app://atelier/', parent: null };
const foreign = [
  null,
  { url: 'app://atelier.evil/', parent: null },
  { url: 'app://ATELIER.evil/', parent: null },
  { url: 'https://atelier/', parent: null },
  { url: 'data:text/html,x', parent: null },
  { url: 'about:blank', parent: null },
  { url: '', parent: null },
  { url: 'app://atelier/', parent: ours },
];

/** Asks for a port as the page's preload does, and waits until it comes. */
async function connect(): Promise<FakeMessagePortMain> {
  const posted = new Promise((resolve) => page.once('fake-posted', resolve));
  fake.ipcMain.listeners.get(desktopChannels.connect)!({ senderFrame: ours, sender: page });
  await posted;
  const { channel, ports } = page.posted.at(-1)!;
  expect(channel).toBe(desktopChannels.port);
  const port = ports[0]!;
  port.start();
  return port;
}
const answerTo = (port: FakeMessagePortMain, message: unknown) =>
  new Promise<{ echo: unknown; env: string[] }>((resolve) => {
    port.once('message', ({ data }) => resolve(data));
    port.postMessage(message);
  });

/** Processes start as slowly as the machine is busy. */
const soon = { timeout: 20_000 };

describe('the window', () => {
  it('is made with every guard on, and loads our page under the CSP', async () => {
    const window = fake.BrowserWindow.all[0]!;
    expect(window.shown).toBe(true);
    expect(window.webContents.url).toBe('app://atelier/');
    expect(window.options.webPreferences).toMatchObject({
      sandbox: true,
      contextIsolation: true,
      nodeIntegration: false,
      nodeIntegrationInWorker: false,
      nodeIntegrationInSubFrames: false,
      webviewTag: false,
      webSecurity: true,
      allowRunningInsecureContent: false,
      experimentalFeatures: false,
    });
    const answer = await fake.protocol.handlers.get('app')!(new Request('app://atelier/'));
    expect(answer.headers.get('content-security-policy')).toContain("script-src 'self'");
  });

  it('stays on our page', () => {
    const stopped = (event: string, url: string) => {
      let prevented = false;
      page.emit(event, { url, preventDefault: () => (prevented = true) });
      return prevented;
    };
    for (const event of ['will-navigate', 'will-frame-navigate', 'will-redirect']) {
      expect(stopped(event, 'app://atelier/runs')).toBe(false);
      for (const url of ['https://example.org/', 'app://atelier.evil/', 'file:///etc/passwd', 'javascript:1'])
        expect(stopped(event, url)).toBe(true);
    }
    expect(stopped('will-attach-webview', '')).toBe(true);
    expect(page.openHandler!({ url: 'app://atelier/' })).toEqual({ action: 'deny' });
  });

  it('may ask for nothing but the clipboard and notifications', () => {
    const { permissionRequest, permissionCheck, device, displayMedia } = fake.session.defaultSession;
    const asked = (permission: string, url = 'app://atelier/') => {
      let answer: unknown;
      permissionRequest!({ getURL: () => url }, permission, (value: unknown) => (answer = value));
      return answer;
    };
    expect(asked('clipboard-sanitized-write')).toBe(true);
    expect(asked('clipboard-sanitized-write', 'https://example.org/')).toBe(false);
    for (const permission of ['media', 'geolocation', 'clipboard-read', 'openExternal', 'fileSystem'])
      expect([asked(permission), permissionCheck!(null, permission, 'app://atelier')]).toEqual([
        false,
        false,
      ]);
    expect(device!()).toBe(false);
    displayMedia!({}, (streams) => expect(streams).toEqual({}));
  });
});

describe('ipc', () => {
  it('answers our top frame alone', async () => {
    const handler = fake.ipcMain.handlers.get(desktopChannels.showInFolder)!;
    for (const senderFrame of foreign) expect(() => handler({ senderFrame }, '/tmp')).toThrow(/refused/);
    handler({ senderFrame: ours }, '/tmp/export');
    expect(fake.shell.shown).toEqual(['/tmp/export']);
    for (const argument of [undefined, 7, '', { path: '/' }])
      expect(() => handler({ senderFrame: ours }, argument)).toThrow(/invalid argument/);
    const before = page.posted.length;
    for (const senderFrame of foreign)
      fake.ipcMain.listeners.get(desktopChannels.connect)!({ senderFrame, sender: page });
    expect(page.posted).toHaveLength(before);
  });

  it('opens https alone, and asks first', async () => {
    const open = (url: string) =>
      fake.ipcMain.handlers.get(desktopChannels.openExternal)!({ senderFrame: ours }, url);
    for (const url of ['http://example.org', 'file:///etc/passwd', 'smb://x/y', 'nonsense'])
      expect(await open(url)).toBe(false);
    expect(fake.dialog.shown).toHaveLength(0);
    fake.dialog.answer.box = 1;
    expect(await open('https://example.org/a')).toBe(false);
    expect(fake.dialog.shown.at(-1)).toMatchObject({ message: 'Open example.org in your browser?' });
    fake.dialog.answer.box = 0;
    expect(await open('https://example.org/a')).toBe(true);
    expect(fake.shell.opened).toEqual(['https://example.org/a']);
  });

  it('listens to the channels of the contract and to no other', () => {
    const { port: _toPage, connect: sent, ...invoked } = desktopChannels;
    expect([...fake.ipcMain.handlers.keys()].sort()).toEqual(Object.values(invoked).sort());
    expect([...fake.ipcMain.listeners.keys()]).toEqual([sent]);
  });
});

describe('the backend', () => {
  it('talks to the page over a port of their own, with a chosen environment', async () => {
    process.env['ATELIER_TEST_SECRET'] = 'x';
    const { echo, env } = await answerTo(await connect(), 'hello');
    expect(echo).toBe('hello');
    expect(env).toContain('ATELIER_RESOURCES');
    expect(env).not.toContain('ATELIER_TEST_SECRET');
  });

  it('keeps the machine awake while a run works, and asks before quitting', async () => {
    await answerTo(await connect(), 'work');
    await vi.waitFor(() => expect(fake.powerSaveBlocker.active.size).toBe(1), soon);
    fake.dialog.answer.box = 0; // keep running
    fake.app.quit();
    await vi.waitFor(
      () => expect(fake.dialog.shown.at(-1)).toMatchObject({ message: '“Sums” is running' }),
      soon,
    );
    expect(backend.working).toBe('Sums');
  });

  it('is introduced to the helper it asked for, which gets an empty environment', async () => {
    const port = await connect();
    await answerTo(port, 'spawn');
    await vi.waitFor(() => expect(backend.working).toBe('helper with 0 variables'), soon);
  });

  it('is told what the process of a GPU said last', async () => {
    const port = await connect();
    await answerTo(port, 'spawn rank');
    await vi.waitFor(() => expect(backend.working).toBe('out of luck'), soon);
  });

  it('starts again after a crash, and the page gets a new port', async () => {
    (await connect()).postMessage('die');
    // The page need not ask: whoever asked before is introduced to the new one.
    await new Promise((resolve) => page.once('fake-posted', resolve));
    const port = page.posted.at(-1)!.ports[0]!;
    port.start();
    expect((await answerTo(port, 'again')).echo).toBe('again');
    expect(fake.powerSaveBlocker.active.size).toBe(0);
  });
});
