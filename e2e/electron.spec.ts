import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { _electron, expect, test, type ElectronApplication, type Page } from '@playwright/test';
import { findElectron, hasDisplay, sqliteForElectron } from '../scripts/setup/electron.mjs';
import { goTo } from './pages/sidebar';
import { expectConfined } from './support/confinement';

const root = join(import.meta.dirname, '..');
const origin = 'app://atelier';

const program = findElectron();
const missing = program === null ? 'no binary' : hasDisplay() ? null : 'no display';
test.skip(missing !== null, `skipped: ${missing}`);
test.describe.configure({ mode: 'serial', timeout: 300_000 });

let home: string;
let app: ElectronApplication;
let page: Page;

test.beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'atelier-electron-'));
  app = await _electron.launch({
    executablePath: program!,
    args: [`--user-data-dir=${join(home, 'electron')}`, root],
    cwd: root,
    // Chromium's sandbox refuses to run for root
    chromiumSandbox: process.getuid?.() !== 0,
    env: {
      ...(process.env as Record<string, string>),
      ATELIER_HOME: join(home, 'data'),
      ATELIER_SQLITE_BINDING: (await sqliteForElectron()) as string,
      // where Electron keeps its own files on Linux: an open Atelier has the lock of the usual ones
      XDG_CONFIG_HOME: join(home, 'config'),
    },
  });
  page = await app.firstWindow();
});

test.afterAll(async () => {
  await app?.close();
  if (home) await rm(home, { recursive: true, force: true });
});

const status = () => page.getByRole('contentinfo');

/** Process id of the backend's utility process; undefined between two. */
const backend = () =>
  app.evaluate(({ app }) => app.getAppMetrics().find(({ name }) => name === 'Atelier engine')?.pid);

test('the window comes up with Home, and the backend answers over its port', async () => {
  await expect(page).toHaveTitle(/Atelier/);
  expect(page.url()).toBe(`${origin}/`);
  await expect(page.getByRole('heading', { level: 1, name: 'Home' })).toBeVisible();
  await expect(status()).toContainText('Engine ready', { timeout: 60_000 });
  await expect(page.getByText('Run the demo')).toBeVisible();
});

test('Electron took the guards that the window was made with', async () => {
  const preferences = await app.evaluate(({ BrowserWindow }) => {
    const [window] = BrowserWindow.getAllWindows();
    // not in Electron's documented types
    return (
      window!.webContents as unknown as { getLastWebPreferences(): Record<string, unknown> }
    ).getLastWebPreferences();
  });
  expect(preferences).toMatchObject({
    sandbox: true,
    contextIsolation: true,
    nodeIntegration: false,
    webSecurity: true,
  });
});

test('the page reaches nothing beyond itself, whatever runs in it', async () => {
  await expectConfined(page);
  expect(await page.evaluate(() => window.open('https://example.org/'))).toBeNull();
  expect(app.windows()).toHaveLength(1);
});

test('the page cannot be led away', async () => {
  await app.evaluate(({ BrowserWindow }) => {
    const navigations: [string, boolean][] = [];
    Object.assign(globalThis, { navigations });
    // after our own listener, which was there first
    BrowserWindow.getAllWindows()[0]!.webContents.on('will-navigate', ({ url, defaultPrevented }) =>
      navigations.push([url, defaultPrevented]),
    );
  });
  const navigations = () =>
    app.evaluate(() => (globalThis as unknown as { navigations: [string, boolean][] }).navigations);
  for (const target of ['data:text/html,x', 'file:///etc/passwd', 'https://example.org/', 'app://evil/']) {
    await page.evaluate((url) => {
      location.href = url;
    }, target);
    // Chromium itself refuses the first two
    if (/^https|^app/.test(target)) await expect.poll(navigations).toContainEqual([target, true]);
    await expect(page.getByRole('heading', { level: 1, name: 'Home' })).toBeVisible();
    expect(page.url()).toBe(`${origin}/`);
  }
});

test('the backend is killed: the page shows it and comes back by itself', async () => {
  const before = await backend();
  expect(before).toBeDefined();
  await page.evaluate(() => {
    const seen: string[] = [];
    Object.assign(window, { seen });
    const bar = document.querySelector('footer')!;
    new MutationObserver(() => seen.push(bar.textContent)).observe(bar, {
      subtree: true,
      childList: true,
      characterData: true,
    });
  });
  process.kill(before!, 'SIGKILL');
  const shown = () => page.evaluate(() => (window as unknown as { seen: string[] }).seen.join('\n'));
  await expect.poll(shown, { timeout: 60_000 }).toMatch(/Reconnecting|Connecting/);
  await expect(status()).toContainText('Engine ready', { timeout: 60_000 });
  const after = await backend();
  expect(after).toEqual(expect.any(Number));
  expect(after).not.toBe(before);
  await goTo(page, 'Models');
  await expect(page.getByText(/Abacus/i).first()).toBeVisible();
});
