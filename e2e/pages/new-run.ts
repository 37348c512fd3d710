import type { Page } from '@playwright/test';
import { choose, goTo } from './sidebar';

export class NewRunPage {
  constructor(private readonly page: Page) {}

  async open(): Promise<void> {
    await goTo(this.page, 'New run');
  }
  chooseModel(name: string | RegExp): Promise<void> {
    return choose(this.page, 'Base model', name);
  }
  async chooseAlgorithm(name: string): Promise<void> {
    await this.page.getByRole('radio', { name: new RegExp(`^${name}`) }).click();
  }
  chooseData(name: string | RegExp): Promise<void> {
    return choose(this.page, 'Data set', name);
  }
  chooseReward(name: string | RegExp): Promise<void> {
    return choose(this.page, 'Reward', name);
  }
  async editReward(): Promise<void> {
    await this.page.getByRole('link', { name: 'Edit and test' }).click();
  }
  async set(setting: string, value: number): Promise<void> {
    await this.page.getByLabel(setting, { exact: true }).fill(String(value));
  }
  async start(): Promise<void> {
    await this.page.getByRole('button', { name: 'Start run' }).click();
    await this.page.waitForURL(/\/runs\/[a-z0-9_-]+/);
  }
}
