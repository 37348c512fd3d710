import { expect, type Locator, type Page } from '@playwright/test';

type Tab = 'Overview' | 'Rollouts' | 'Timeline' | 'Events' | 'Checkpoints' | 'Configuration';

export class RunPage {
  constructor(private readonly page: Page) {}

  get id(): string {
    return /\/runs\/([a-z0-9_-]+)/.exec(this.page.url())![1]!;
  }
  async openTab(name: Tab): Promise<void> {
    await this.page.getByRole('tab', { name: new RegExp(`^${name}`) }).click();
  }
  async expectStatus(status: string | RegExp, timeout: number): Promise<void> {
    await expect(this.page.getByRole('heading', { level: 1 })).toContainText(status, { timeout });
  }
  chart(title: RegExp): Locator {
    return this.page
      .locator('[aria-roledescription=chart]')
      .and(this.page.getByRole('group', { name: title }));
  }
  async expectStep(atLeast: number, timeout: number): Promise<void> {
    await expect
      .poll(
        async () =>
          Number(
            /Step (\d+)/.exec(
              (await this.page
                .getByRole('progressbar', { name: /^Step \d+ of/ })
                .getAttribute('aria-label'))!,
            )?.[1],
          ),
        { timeout },
      )
      .toBeGreaterThanOrEqual(atLeast);
  }
  /** Steps and one metric of the table, oldest first. */
  async series(metric: string): Promise<{ steps: number[]; values: number[] }> {
    await this.openTab('Overview');
    await this.page.getByRole('radio', { name: 'Table' }).click();
    const table = this.page.getByRole('table', { name: 'Metrics by step' });
    await table.waitFor();
    const more = this.page.getByRole('button', { name: 'Show earlier steps' });
    while (await more.isVisible()) await more.click();
    const found = await table.evaluate((element, name) => {
      const cells = (row: Element) => [...row.children].map((cell) => cell.textContent ?? '');
      const column = cells(element.querySelector('thead tr')!).indexOf(name);
      const rows = [...element.querySelectorAll('tbody tr')].map(cells).reverse();
      return rows.map((row) => [row[0]!, row[column]!]);
    }, metric);
    await this.page.getByRole('radio', { name: 'Charts' }).click();
    const number = (text: string) => Number(text.replace('−', '-'));
    return { steps: found.map(([step]) => number(step!)), values: found.map(([, value]) => number(value!)) };
  }
  async pause(): Promise<void> {
    await this.page.getByRole('button', { name: 'Pause' }).click();
  }
  async resume(): Promise<void> {
    await this.page.getByRole('button', { name: 'Resume' }).click();
  }
}
