import { join } from 'node:path';
import type { Page } from '@playwright/test';
import { rolldown } from 'rolldown';

/** The page believes that it is in the desktop app: `window.shell` (shell.ts) plays preload. */
export async function installShell(page: Page): Promise<void> {
  const bundle = await rolldown({ input: join(import.meta.dirname, 'shell.ts'), platform: 'browser' });
  const { output } = await bundle.generate({ format: 'iife' });
  await bundle.close();
  await page.addInitScript(output[0].code);
}
