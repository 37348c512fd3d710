import { expectAccessible, prepareAxe } from './support/axe';
import type { Scenario } from './support/fixture/handlers';
import { screens } from './support/screens/index';
import { expect, test } from './support/test';

const scenarios: readonly Scenario[] = ['full', 'empty', 'error'];

for (const scenario of scenarios) {
  test.describe(`with a ${scenario} library`, () => {
    for (const screen of screens) {
      const text = screen.shows[scenario];
      if (text === undefined) continue;
      test(`${screen.name} is accessible in both themes`, async ({ page, fixtures }) => {
        const server = await fixtures(scenario);
        await prepareAxe(page);
        await page.goto(server.address(screen.path));
        await expect(page.getByText(text).first()).toBeVisible();
        if (scenario === 'full') await screen.act?.(page);
        await expectAccessible(page, 'light');
        await expectAccessible(page, 'dark');
      });
    }
  });
}
