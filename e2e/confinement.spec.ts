import { expectConfined } from './support/confinement';
import { expect, test } from './support/test';

test('the page reaches nothing beyond its own server, whatever runs in it', async ({
  page,
  fixtures,
  complaints,
}) => {
  const server = await fixtures('full');
  await page.goto(server.address('/'));
  await expect(page.getByText('Sampling 64 answers').first()).toBeVisible();
  await expectConfined(page);
  // what the browser says of each attempt is the point here
  expect(complaints.splice(0).length).toBeGreaterThan(0);
});
