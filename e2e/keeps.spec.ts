import { expect, test } from './support/test';
import { goTo } from './pages/sidebar';
import { RewardPage } from './pages/reward';

const places = ['Models', 'Data', 'Rewards', 'New run', 'Runs', 'Chat', 'Export', 'Settings'];

test('reward code that was not saved survives a reload, until it is discarded', async ({
  page,
  fixtures,
}) => {
  await page.goto((await fixtures('full')).address('/rewards/right-sum'));
  const reward = new RewardPage(page);
  await expect.poll(() => reward.code()).toContain('export default');
  const saved = await reward.code();
  await reward.write('export default () => 0.25;');
  await page.reload();
  await expect.poll(() => reward.code()).toBe('export default () => 0.25;');
  await expect(page.getByRole('heading', { level: 1 })).toContainText('changed');
  await page.getByRole('button', { name: 'Discard changes' }).click();
  await expect.poll(() => reward.code()).toBe(saved);
  await page.reload();
  await expect.poll(() => reward.code()).toBe(saved);
});

test('the checkpoint to export is in the address, so that one that comes later does not take its place', async ({
  page,
  fixtures,
}) => {
  await page.goto((await fixtures('full')).address('/export'));
  await expect(page).toHaveURL(/run=learn-to-carry&checkpoint=80/);
});

test('once the page is there, no screen needs code from the backend', async ({ page, fixtures }) => {
  const board = page.waitForResponse(/ChartBoard.*\.js/);
  await page.goto((await fixtures('full')).address('/'));
  await board;
  await page.route(/assets\/.*\.(js|css)$/, (route) => route.abort());
  for (const place of places) await goTo(page, place);
  await page.getByRole('link', { name: 'Home', exact: true }).click();
  await page.getByRole('link', { name: 'Learn to carry' }).click();
  await expect(page.getByText('+0.589')).toBeVisible();
});

test('a zoom of 200 % leaves every screen whole', async ({ page, fixtures }) => {
  await page.setViewportSize({ width: 640, height: 450 });
  await page.goto((await fixtures('full')).address('/'));
  await expect(page.getByText('Sampling 64 answers')).toBeVisible();
  for (const place of places) {
    await goTo(page, place);
    const room = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    expect(room, place).toBeLessThanOrEqual(0);
  }
  await goTo(page, 'New run');
  const start = page.getByRole('button', { name: 'Start run' });
  await start.scrollIntoViewIfNeeded();
  await expect(start).toBeInViewport();
  expect((await page.getByLabel('Base model').boundingBox())!.width).toBeGreaterThan(300);
});

test('a run is fitted to memory: the form takes what was chosen, and says why', async ({
  page,
  fixtures,
}) => {
  await page.goto((await fixtures('full')).address('/new'));
  await page.getByRole('button', { name: 'Fit to memory' }).click();
  await expect(page.getByText('Layers are not recomputed: their activations fit.')).toBeVisible();
  await page.getByRole('radio', { name: 'Advanced' }).click();
  await expect(page.getByLabel('Tokens at once')).toHaveValue('1024');
});
