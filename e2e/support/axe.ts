import { expect, type Page } from '@playwright/test';
import axe from 'axe-core';

/** Must come before the page is opened: a script tag would break the page's policy. */
export async function prepareAxe(page: Page): Promise<void> {
  await page.addInitScript({ content: axe.source });
}

/** Nothing that axe calls serious or critical, in both themes. */
export async function expectAccessible(page: Page): Promise<void> {
  for (const theme of ['light', 'dark'] as const) await expectNone(page, theme);
}

async function expectNone(page: Page, theme: 'light' | 'dark'): Promise<void> {
  await page.emulateMedia({ colorScheme: theme, reducedMotion: 'reduce' });
  await expect(page.locator('html')).toHaveAttribute('data-theme', theme);
  // colours change over 120 ms unless motion is reduced, and one frame has to be drawn
  await page.evaluate(
    () => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))),
  );
  const found = await page.evaluate(async () => {
    const results = await (window as unknown as { axe: typeof axe }).axe.run(document, {
      resultTypes: ['violations'],
    });
    return results.violations
      .filter((rule) => rule.impact === 'serious' || rule.impact === 'critical')
      .map((rule) => ({
        rule: rule.id,
        where: rule.nodes.map((node) => `${node.target.join(' ')}: ${node.failureSummary ?? ''}`).slice(0, 4),
      }));
  });
  expect(found, `${theme}, ${page.url()}`).toEqual([]);
}
