import type { Page } from '@playwright/test';
import { goTo } from './pages/sidebar';
import { chromium } from './support/chromium';
import { installShell } from './support/desktop/install';
import type { Shell } from './support/desktop/shell';
import { expect, test } from './support/test';

// Electron's ports tell when the other end is gone, as the standard says; Chromium keeps that behind a flag.
test.use({ launchOptions: { ...chromium, args: ['--enable-blink-features=MessagePortCloseEvent'] } });

/** The desktop's transport in a browser: the page takes its port from a stand-in for preload. */
type DesktopWindow = Window & { shell: Shell };
/** What ports that nobody should take have heard, and how many messages the page got. */
type Rogue = Window & { heard: unknown[]; messages: number };

const links = (page: Page) =>
  page.evaluate(() =>
    (window as unknown as DesktopWindow).shell.links.map(({ sent, closed }) => ({ sent: sent > 0, closed })),
  );
const asked = (page: Page) => page.evaluate(() => (window as unknown as DesktopWindow).shell.asked);
const status = (page: Page) => page.getByRole('contentinfo');

test.beforeEach(async ({ page, fixtures }) => {
  await installShell(page);
  const server = await fixtures('full');
  await page.goto(server.address('/'));
  await expect(page.getByText('Sampling 64 answers').first()).toBeVisible();
});

test('Home comes up over the port that preload hands over, and typed arrays cross it', async ({ page }) => {
  expect(await asked(page)).toBe(1);
  expect(await links(page)).toEqual([{ sent: true, closed: false }]);
  await expect(status(page)).toContainText('Engine');
  await goTo(page, 'Runs');
  await page
    .getByRole('link', { name: /Learn to carry/ })
    .first()
    .click();
  await page.getByRole('tab', { name: 'Rollouts' }).click();
  await page.keyboard.press('t');
  await expect(page.getByText('≥ 90 %').first()).toBeVisible();
});

test('a port that closes is asked for again, and the page goes on with the new one', async ({ page }) => {
  await page.evaluate(() => {
    const { shell } = window as unknown as DesktopWindow;
    shell.ready = false;
    shell.links[0]!.port.close();
  });
  await expect(status(page)).toContainText('Connecting');
  await expect.poll(() => asked(page)).toBe(2);
  // the backend is there again: whoever asked before is introduced
  await page.evaluate(() => (window as unknown as DesktopWindow).shell.introduce());
  await expect(status(page)).toContainText('Engine');
  await goTo(page, 'Models');
  await expect(page.getByText('SmolLM2 135M Instruct').first()).toBeVisible();
  expect(await links(page)).toEqual([
    { sent: true, closed: true },
    { sent: true, closed: false },
  ]);
  expect(await asked(page)).toBe(2);
});

test('a port handed over unasked replaces the one in use, which is closed', async ({ page }) => {
  await page.evaluate(() => (window as unknown as DesktopWindow).shell.introduce());
  await expect
    .poll(() => links(page))
    .toEqual([
      { sent: true, closed: true },
      { sent: true, closed: false },
    ]);
  await goTo(page, 'Models');
  await expect(page.getByText('SmolLM2 135M Instruct').first()).toBeVisible();
  expect(await asked(page)).toBe(1);
});

test('a port from another origin or window, a second port and another message are ignored', async ({
  page,
}) => {
  await page.evaluate(() => {
    const heard: unknown[] = [];
    Object.assign(window, { heard, messages: 0 });
    window.addEventListener('message', () => ((window as unknown as Rogue).messages += 1));
    const rogue = () => {
      const { port1, port2 } = new MessageChannel();
      port1.addEventListener('message', ({ data }) => heard.push(data));
      port1.start();
      return port2;
    };
    const data = { type: 'atelier:port' };
    const deliver = (init: MessageEventInit) =>
      window.dispatchEvent(new MessageEvent('message', { source: window, ...init }));
    const { origin } = location;
    deliver({ data, origin: 'https://evil.example', ports: [rogue()] });
    deliver({ data, origin: `${origin}.evil.example`, ports: [rogue()] });
    deliver({ data, origin: 'null', ports: [rogue()] });
    deliver({ data, origin, ports: [rogue(), rogue()] });
    deliver({ data, origin, ports: [] });
    deliver({ data: { type: 'other' }, origin, ports: [rogue()] });
    deliver({ data: null, origin, ports: [rogue()] });
    document.body.append(document.createElement('iframe'));
  });
  // a frame of our own origin, in earnest
  await page.frames()[1]!.evaluate(() => {
    const { port1, port2 } = new MessageChannel();
    port1.addEventListener('message', ({ data }) => (window.parent as unknown as Rogue).heard.push(data));
    port1.start();
    window.parent.postMessage({ type: 'atelier:port' }, '*', [port2]);
  });
  await expect.poll(() => page.evaluate(() => (window as unknown as Rogue).messages)).toBe(8);

  await goTo(page, 'Models');
  await expect(page.getByText('SmolLM2 135M Instruct').first()).toBeVisible();
  expect(await page.evaluate(() => (window as unknown as Rogue).heard)).toEqual([]);
  expect(await links(page)).toEqual([{ sent: true, closed: false }]);
  expect(await asked(page)).toBe(1);
});
