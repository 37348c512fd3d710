import { expectAccessible, prepareAxe } from './support/axe';
import { startApp, type App } from './support/app';
import { expect, test } from './support/test';

let app: App;
test.beforeAll(async () => {
  app = await startApp();
});
test.afterAll(() => app?.stop());

test('a window without a code says how to get one, and goes on with it where it was', async ({ page }) => {
  await prepareAxe(page);
  await page.goto(new URL('/data', app.address).href);
  await expect(page.getByRole('heading', { level: 1, name: 'Not connected' })).toBeVisible();
  await expect(page.getByText('npm run atelier -- address', { exact: true })).toBeVisible();
  await expectAccessible(page);

  const field = page.getByLabel('Address or code');
  await field.fill('http://127.0.0.1:4780/');
  await field.press('Enter');
  await expect(page.getByText('There is no code in it')).toBeVisible();

  const address = await app.nextAddress();
  await field.fill(address);
  await field.press('Enter');
  await expect(page.getByRole('heading', { level: 1, name: 'Data' })).toBeVisible();
  await expect(page.getByText('Engine ready')).toBeVisible();
  expect(page.url()).not.toContain('code');
  await page.reload();
  await expect(page.getByText('Engine ready')).toBeVisible();

  await test.step('an address that was used is refused, and says so', async () => {
    const other = await page.context().newPage();
    await other.goto(address);
    await expect(other.getByRole('alert')).toContainText('was used already');
    await other.getByLabel('Address or code').fill(await app.nextAddress());
    await other.getByRole('button', { name: 'Connect' }).click();
    await expect(other.getByText('Engine ready')).toBeVisible();
    await other.close();
  });
});
