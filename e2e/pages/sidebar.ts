import type { Page } from '@playwright/test';

/** Goes to a screen by the sidebar. */
export async function goTo(page: Page, place: string): Promise<void> {
  await page
    .getByRole('navigation', { name: 'Main' })
    .getByRole('link', { name: place, exact: true })
    .click();
  await page.getByRole('heading', { level: 1, name: place }).waitFor();
}

/** Chooses in one of the app's selects, by its label. */
export async function choose(page: Page, label: string, option: string | RegExp): Promise<void> {
  await page.getByRole('combobox', { name: label, exact: true }).click();
  await page.getByRole('option', { name: option }).click();
}
