import { expect, type Locator, type Page } from '@playwright/test';

export class RewardPage {
  constructor(private readonly page: Page) {}

  get results(): Locator {
    return this.page.getByRole('region', { name: 'Scored answers' });
  }

  /** Replaces the whole code, as one who selects all and pastes. */
  async write(code: string): Promise<void> {
    await this.page.getByRole('textbox', { name: 'Reward code' }).click();
    await this.page.keyboard.press('ControlOrMeta+a');
    await this.page.keyboard.insertText(code);
  }
  async code(): Promise<string> {
    return (
      await this.page.getByRole('textbox', { name: 'Reward code' }).locator('.cm-line').allInnerTexts()
    ).join('\n');
  }
  async test(): Promise<void> {
    await this.page.getByRole('button', { name: 'Test on real samples' }).click();
    await expect(this.results.getByText('Mean', { exact: true })).toBeVisible({ timeout: 120_000 });
    await expect(this.page.getByRole('button', { name: 'Test on real samples' })).toBeVisible({
      timeout: 120_000,
    });
  }
  async saveCopy(name: string): Promise<void> {
    await this.page.getByRole('button', { name: 'Save a copy…' }).click();
    await this.page.getByLabel('Name').fill(name);
    await this.page.getByRole('button', { name: 'Save', exact: true }).click();
    await expect(this.page.getByRole('heading', { level: 1, name })).toBeVisible();
  }
}
