import { expectAccessible } from './support/axe';
import type { Scenario } from './support/fixture/handlers';
import { screens } from './support/screens/index';
import { testOnOnePage as test } from './support/test';

const scenarios: readonly Scenario[] = ['full', 'empty', 'error'];

for (const scenario of scenarios) {
  test.describe(`with a ${scenario} library`, () => {
    for (const screen of screens) {
      const text = screen.shows[scenario];
      if (text === undefined) continue;
      test(`${screen.name} is accessible in both themes`, async ({ page, fixtures }) => {
        const server = await fixtures(scenario);
        await page.goto(server.address(screen.path), { waitUntil: 'commit' });
        // at the frame that shows it: expect() would look again after a while only
        await page.getByText(text).first().waitFor();
        if (scenario === 'full') await screen.act?.(page);
        await expectAccessible(page);
      });
    }
  });
}
