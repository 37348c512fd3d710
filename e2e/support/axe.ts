import { expect, type Page } from '@playwright/test';
import axe from 'axe-core';

/** Must come before the page is opened: a script tag would break the page's policy. */
export async function prepareAxe(page: Page): Promise<void> {
  await page.addInitScript({ content: axe.source });
}

/** Rules that look at colours: of a page that was seen in one theme, the other can break only these. */
const COLOURS = ['color-contrast', 'link-in-text-block'];

/** Nothing that axe calls serious or critical, in both themes. */
export async function expectAccessible(page: Page): Promise<void> {
  await expectNone(page, 'light', undefined);
  await expectNone(page, 'dark', COLOURS);
}

async function expectNone(page: Page, theme: 'light' | 'dark', rules: string[] | undefined): Promise<void> {
  await page.emulateMedia({ colorScheme: theme, reducedMotion: 'reduce' });
  await expect(page.locator('html')).toHaveAttribute('data-theme', theme);
  // colours change over 120 ms unless motion is reduced, and one frame has to be drawn
  await page.evaluate(
    () => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))),
  );
  const found = await page.evaluate(async (only) => {
    const results = await (window as unknown as { axe: typeof axe }).axe.run(document, {
      resultTypes: ['violations'],
      ...(only === undefined ? {} : { runOnly: { type: 'rule', values: only } }),
    });
    return results.violations
      .filter((rule) => rule.impact === 'serious' || rule.impact === 'critical')
      .map((rule) => ({
        rule: rule.id,
        where: rule.nodes.map((node) => `${node.target.join(' ')}: ${node.failureSummary ?? ''}`).slice(0, 4),
      }));
  }, rules);
  expect(found, `${theme}, ${page.url()}`).toEqual([]);
}
