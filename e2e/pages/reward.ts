import { expect, type Locator, type Page } from '@playwright/test';

export class RewardPage {
  constructor(private readonly page: Page) {}

  get results(): Locator {
    return this.page.getByRole('region', { name: 'Scored answers' });
  }

  /** Replaces the whole code, as one who selects all and pastes. */
  async write(code: string): Promise<void> {
    const editor = this.page.getByRole('textbox', { name: 'Reward code' });
    await editor.click();
    await this.page.keyboard.press('ControlOrMeta+a');
    // text of many lines that is typed at once may reach an editor in parts
    await editor.evaluate((element, text) => {
      const clipboardData = new DataTransfer();
      clipboardData.setData('text/plain', text);
      element.dispatchEvent(new ClipboardEvent('paste', { clipboardData, bubbles: true, cancelable: true }));
    }, code);
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
