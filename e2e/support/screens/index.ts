import { expect } from '@playwright/test';
import { broken, type ScreenCase } from './case';
import { libraryScreens } from './library';
import { runScreens } from './runs';

/** Every screen, and every state of it that looks different. */
export const screens: readonly ScreenCase[] = [
  ...libraryScreens,
  ...runScreens,
  { name: 'home', path: '/', shows: { full: 'Sampling 64 answers', empty: 'Run the demo', error: broken } },
  {
    name: 'settings',
    path: '/settings',
    shows: { full: 'MLX 0.32.4', empty: 'MLX 0.32.4', error: broken },
    act: async (page) => {
      await page.getByRole('button', { name: 'Collect' }).click();
      await expect(page.getByText('checks: engine ok')).toBeVisible();
    },
  },
  {
    name: 'palette',
    path: '/',
    shows: { full: 'Sampling 64 answers' },
    act: async (page) => {
      await page.keyboard.press('Control+k');
      await page.getByRole('combobox').fill('temp');
      await expect(page.getByRole('option', { name: /Temperature.*GRPO/ })).toBeVisible();
    },
  },
  { name: 'nowhere', path: '/nowhere', shows: { full: 'This address leads nowhere' } },
];
