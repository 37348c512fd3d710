import { defineConfig } from '@playwright/test';

export default defineConfig({
  testDir: '.',
  outputDir: '../build/e2e',
  // the engine has the processor to itself
  workers: 1,
  timeout: 120_000,
  expect: { timeout: 30_000 },
  reporter: 'list',
  use: {
    viewport: { width: 1440, height: 900 },
    launchOptions: { executablePath: process.env['CHROME_PATH'] ?? '/usr/bin/chromium' },
    screenshot: 'only-on-failure',
  },
});
