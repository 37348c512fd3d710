import { test as base, expect, type Page } from '@playwright/test';
import { prepareAxe } from './axe';
import { startFixture, type Fixture } from './fixture/server';
import type { Scenario } from './fixture/handlers';

/** Collects what no page may do: break the content security policy, throw, or log an error. */
export async function watch(page: Page): Promise<string[]> {
  const complaints: string[] = [];
  await page.exposeFunction('reportViolation', (text: string) => complaints.push(text));
  await page.addInitScript(() => {
    document.addEventListener('securitypolicyviolation', (event) => {
      const report = (window as unknown as { reportViolation(text: string): void }).reportViolation;
      report(
        `CSP ${event.violatedDirective}: ${event.blockedURI} ${event.sourceFile}:${event.lineNumber} ${event.sample}`,
      );
    });
  });
  page.on('pageerror', (error) => complaints.push(`page error: ${error.stack ?? error.message}`));
  page.on('console', (message) => {
    if (message.type() === 'error') complaints.push(`console: ${message.text()}`);
  });
  return complaints;
}

interface Fixtures {
  complaints: string[];
}
interface WorkerFixtures {
  /** A server of sample answers for each state of the library. */
  fixtures: (scenario: Scenario) => Promise<Fixture>;
}

/** Playwright's test; any complaint of the page fails it. */
export const test = base.extend<Fixtures, WorkerFixtures>({
  complaints: [
    async ({ page }, use) => {
      const complaints = await watch(page);
      await use(complaints);
      expect(complaints).toEqual([]);
    },
    { auto: true },
  ],
  fixtures: [
    // eslint-disable-next-line no-empty-pattern
    async ({}, use) => {
      const open = new Map<Scenario, Promise<Fixture>>();
      await use((scenario) => {
        let fixture = open.get(scenario);
        if (fixture === undefined) open.set(scenario, (fixture = startFixture(scenario)));
        return fixture;
      });
      for (const fixture of open.values()) await (await fixture).close();
    },
    { scope: 'worker' },
  ],
});

interface Kept {
  page: Page;
  complaints: string[];
}

/** One page for all tests, with axe, that keeps nothing from one address to the next: a new page takes longer than a look. */
export const testOnOnePage = test.extend<object, { kept: Kept }>({
  kept: [
    async ({ browser }, use, { project }) => {
      const page = await browser.newPage(project.use);
      await prepareAxe(page);
      await page.addInitScript(() => {
        localStorage.clear();
        sessionStorage.clear();
      });
      await use({ page, complaints: await watch(page) });
      await page.close();
    },
    { scope: 'worker' },
  ],
  page: async ({ kept: { page } }, provide) => {
    await provide(page);
    // away from its path: an address that differs in its code only would load nothing
    await page.evaluate(() => history.replaceState(null, '', '/left'));
  },
  complaints: async ({ kept: { complaints } }, provide) => {
    complaints.length = 0;
    await provide(complaints);
    expect(complaints).toEqual([]);
  },
});

export { expect };
