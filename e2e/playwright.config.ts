import { defineConfig } from '@playwright/test';
import { chromium } from './support/chromium';

export default defineConfig({
  testDir: '.',
  outputDir: '../build/e2e',
  // the engine has the processor to itself
  workers: 1,
  timeout: 120_000,
  expect: { timeout: 30_000 },
  reporter: 'list',
  projects: [
    {
      name: 'browser',
      testIgnore: 'electron.spec.ts',
      use: {
        viewport: { width: 1440, height: 900 },
        launchOptions: chromium,
        screenshot: 'only-on-failure',
      },
    },
    { name: 'electron', testMatch: 'electron.spec.ts' },
  ],
});
