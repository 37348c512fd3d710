import { expect } from '@playwright/test';
import { broken, type ScreenCase } from './case';

/** Models, data, rewards and algorithms. */
export const libraryScreens: readonly ScreenCase[] = [
  {
    name: 'models',
    path: '/models',
    shows: { full: 'SmolLM2 135M Instruct', empty: 'No model yet', error: broken },
  },
  {
    name: 'models, adding one',
    path: '/models',
    shows: { full: 'mamba-370m' },
    act: async (page) => {
      await page.getByRole('button', { name: 'Add folder or GGUF…' }).click();
      await page.getByRole('button', { name: 'Add Qwen3-0.6B' }).click();
      await expect(page.getByText('It was not added.')).toBeVisible();
    },
  },
  {
    name: 'model',
    path: '/models/abacus',
    shows: { full: 'Checkpoints trained from it', empty: 'There is no such model', error: broken },
  },
  {
    name: 'data',
    path: '/data',
    shows: { full: 'support-mails.jsonl', empty: 'No data yet', error: broken },
  },
  {
    name: 'data set rows',
    path: '/data/support-mails',
    shows: { full: 'How do I reset my password?', empty: 'There is no such data set', error: broken },
  },
  {
    name: 'data columns',
    path: '/data/support-mails?tab=columns',
    shows: { full: 'of 1\u202f204 rows' },
    act: async (page) => {
      await expect(page.getByText(/^Can be trained with .*SFT/)).toBeVisible();
      await expect(page.getByText('Line 1', { exact: true })).toBeVisible();
    },
  },
  {
    name: 'data columns, choosing them',
    path: '/data/support-mails?tab=columns',
    shows: { full: 'of 1\u202f204 rows' },
    act: async (page) => {
      await page.getByLabel('Kind of data').click();
      await page.getByRole('option', { name: /^Pairs of answers/ }).click();
      await expect(page.getByText('Choose the column that plays this part.')).toBeVisible();
      await expect(page.getByRole('button', { name: 'Save' })).toBeDisabled();
      await expect(page.getByText('Changed, not saved')).toBeVisible();
    },
  },
  {
    name: 'data as the model sees it',
    path: '/data/sums?tab=model&algorithm=sft',
    shows: { full: '12 trained on' },
  },
  {
    name: 'data statistics',
    path: '/data/support-mails?tab=statistics',
    shows: { full: 'Without a value' },
  },
  {
    name: 'data from the Hub',
    path: '/data',
    shows: { full: 'support-mails.jsonl' },
    act: async (page) => {
      await page.getByRole('button', { name: 'From the Hub…' }).click();
      await page.getByLabel('Repository').fill('openai/gsm8k');
      await page.getByRole('button', { name: 'Look up' }).click();
      await expect(page.getByRole('button', { name: 'Fetch socratic, test' })).toBeVisible();
    },
  },
  {
    name: 'data problems',
    path: '/data/support-mails?tab=problems',
    shows: { full: '36 rows cannot be read' },
  },
  {
    name: 'data, adding a file',
    path: '/data',
    shows: { full: 'support-mails.jsonl' },
    act: async (page) => {
      await page.getByRole('button', { name: 'Add file or folder…' }).click();
      await expect(page.getByRole('button', { name: 'Add mails.jsonl' })).toBeVisible();
    },
  },
  {
    name: 'rewards',
    path: '/rewards',
    shows: { full: 'Right and short', empty: 'No reward yet', error: broken },
  },
  {
    name: 'reward, tested',
    path: '/rewards/right-sum',
    shows: { full: 'No problems', empty: 'There is no such reward', error: broken },
    act: async (page) => {
      await page.getByRole('button', { name: 'Test on real samples' }).click();
      await expect(page.getByText('1 of 16 answers got no reward')).toBeVisible();
    },
  },
  { name: 'new reward', path: '/rewards/new', shows: { full: 'No problems', empty: 'No problems' } },
  {
    name: 'new reward, in Python',
    path: '/rewards/new',
    shows: { full: 'No problems' },
    act: async (page) => {
      await page.getByRole('radio', { name: 'Python' }).click();
      await expect(page.getByText('It runs alone')).toBeVisible();
    },
  },
  {
    name: 'new reward, by a judge',
    path: '/rewards/new',
    shows: { full: 'No problems' },
    act: async (page) => {
      await page.getByRole('radio', { name: 'Judge' }).click();
      await expect(page.getByRole('button', { name: 'Allow' })).toBeVisible();
      await page.getByLabel('Key, where the address wants one').fill('a key');
    },
  },
  {
    name: 'new reward, naming it',
    path: '/rewards/new',
    shows: { full: 'No problems' },
    act: async (page) => {
      await page.getByRole('button', { name: 'Save…' }).click();
      await expect(page.getByRole('dialog')).toBeVisible();
    },
  },
  {
    name: 'algorithms',
    path: '/algorithms',
    shows: { full: 'GRPO with a floor', empty: 'None yet', error: broken },
  },
  {
    name: 'algorithm of the app',
    path: '/algorithms/grpo',
    shows: { full: 'Copy and edit', error: broken },
  },
  {
    name: 'algorithm of one’s own',
    path: '/algorithms/grpo-with-a-floor',
    shows: { full: 'Ready to run', empty: 'There is no such algorithm', error: broken },
  },
  {
    name: 'algorithm with a mistake',
    path: '/algorithms/grpo-with-a-floor',
    shows: { full: 'Ready to run' },
    act: async (page) => {
      await page.getByRole('textbox', { name: 'Code of the algorithm' }).click();
      await page.keyboard.press('ControlOrMeta+a');
      await page.keyboard.insertText('export const lenght = 1;');
      await expect(page.getByText('1 problem')).toBeVisible();
      await expect(page.getByRole('button', { name: 'Discard changes' })).toBeVisible();
    },
  },
  { name: 'new algorithm', path: '/algorithms/new?from=ppo', shows: { full: 'Ready to run' } },
];
