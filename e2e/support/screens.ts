import { expect, type Page } from '@playwright/test';
import type { Scenario } from './fixture/handlers';

export interface ScreenCase {
  name: string;
  path: string;
  /** Text that shows once the screen is there, by state; a state without one is not visited. */
  shows: Partial<Record<Scenario, string | RegExp>>;
  /** What to do before looking, in the full state. */
  act?: (page: Page) => Promise<void>;
}

const broken = 'ENOSPC: no space left on device';

/** Every screen, and every state of it that looks different. */
export const screens: readonly ScreenCase[] = [
  { name: 'home', path: '/', shows: { full: 'Sampling 64 answers', empty: 'Run the demo', error: broken } },
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
    shows: { full: 'Adapters trained on it', empty: 'There is no such model', error: broken },
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
  {
    name: 'new run',
    path: '/new',
    shows: { full: 'Answers sampled', empty: 'Choose a model and data first.', error: broken },
    act: async (page) => {
      await page.getByRole('radio', { name: 'Advanced' }).click();
      await page.getByLabel('Learning rate').fill('0.5');
      await expect(page.getByRole('button', { name: 'Start run' })).toBeDisabled();
      await page.getByRole('button', { name: 'Show' }).click();
    },
  },
  {
    name: 'new run, choosing a model',
    path: '/new',
    shows: { full: 'Answers sampled' },
    act: async (page) => {
      await page.getByLabel('Base model').click();
      await expect(page.getByRole('option', { name: /mamba/ })).toBeVisible();
    },
  },
  {
    name: 'new run on pairs',
    path: '/new',
    shows: { full: 'Answers sampled' },
    act: async (page) => {
      await page.getByRole('radio', { name: /^DPO/ }).click();
      await expect(page.getByText('Better answer', { exact: true })).toBeVisible();
      // the numbers of the algorithm before are not shown for this one
      await expect(page.getByText('Answers sampled')).toBeHidden();
    },
  },
  {
    name: 'new run with a critic, all settings',
    path: '/new',
    shows: { full: 'Answers sampled' },
    act: async (page) => {
      await page.getByRole('radio', { name: /^PPO/ }).click();
      await page.getByRole('radio', { name: 'Advanced' }).click();
      await expect(page.getByLabel('Learning rate of the critic')).toBeVisible();
      await page.getByRole('button', { name: 'Add a reward' }).click();
      await expect(page.getByText('Choose a reward, or remove this place.').first()).toBeVisible();
    },
  },
  {
    name: 'new run with a teacher',
    path: '/new',
    shows: { full: 'Answers sampled' },
    act: async (page) => {
      await page.getByRole('radio', { name: /^Distillation/ }).click();
      await page.getByLabel('Teacher').click();
      await expect(page.getByRole('option', { name: /the model as it is/ }).first()).toBeVisible();
    },
  },
  {
    name: 'new run as YAML',
    path: '/new',
    shows: { full: 'Answers sampled' },
    act: async (page) => {
      await page.getByRole('radio', { name: 'YAML' }).click();
      await expect(page.getByText('does the same')).toBeVisible();
    },
  },
  { name: 'runs', path: '/runs', shows: { full: 'Right and short', empty: 'No run yet', error: broken } },
  { name: 'runs, none found', path: '/runs?q=nothing', shows: { full: 'No run matches' } },
  {
    name: 'run, live',
    path: '/runs/carry-again',
    shows: { full: 'Sampling 64 answers', empty: 'There is no such run', error: broken },
  },
  { name: 'run, done', path: '/runs/learn-to-carry', shows: { full: '+0.589' } },
  {
    name: 'run, as a table',
    path: '/runs/learn-to-carry?view=table',
    shows: { full: 'Answer length, tokens' },
  },
  { name: 'run, failed', path: '/runs/short-answers', shows: { full: 'The run failed.' } },
  {
    name: 'run, failed at length',
    path: '/runs/long-failure',
    shows: { full: 'while scoring answer 49' },
  },
  {
    name: 'run on pairs',
    path: '/runs/pairs',
    shows: { full: 'Margin of good over bad' },
    act: async (page) => {
      // each measure in its own unit, and what falls below 0 with its sign
      await expect(page.getByText('91.4\u00a0%')).toBeVisible();
      await expect(page.getByRole('group', { name: /^Implicit reward/ }).getByText('−0.001')).toBeVisible();
    },
  },
  { name: 'run of one step', path: '/runs/one-step', shows: { full: 'before and after 1 step' } },
  {
    name: 'run of many steps',
    path: '/runs/many-steps',
    shows: { full: 'Lines are means of 17 steps' },
  },
  {
    name: 'rollouts of many steps',
    path: '/runs/many-steps?tab=rollouts',
    shows: { full: 'Step 5\u202f000' },
  },
  {
    name: 'rollout that is gone',
    path: '/runs/learn-to-carry?tab=rollouts&step=12&rollout=77777',
    shows: { full: 'not in the list' },
  },
  {
    name: 'step that is gone',
    path: '/runs/learn-to-carry?tab=rollouts&step=999',
    shows: { full: 'Show the newest step' },
  },
  { name: 'run, interrupted', path: '/runs/support-sft', shows: { full: 'The run was interrupted' } },
  { name: 'run, queued', path: '/runs/queued-run', shows: { full: 'Number 1 in the queue' } },
  {
    name: 'run, stopping it',
    path: '/runs/carry-again',
    shows: { full: 'Sampling 64 answers' },
    act: async (page) => {
      await page.getByRole('button', { name: 'Stop and save' }).click();
      await expect(page.getByRole('dialog')).toBeVisible();
    },
  },
  { name: 'rollouts', path: '/runs/carry-again?tab=rollouts', shows: { full: 'Its group, best first' } },
  {
    name: 'rollouts by token',
    path: '/runs/learn-to-carry?tab=rollouts&step=12&show=tokens&sort=advantage',
    shows: { full: '≥ 90 %' },
  },
  {
    name: 'rollouts, none yet',
    path: '/runs/queued-run?tab=rollouts',
    shows: { full: 'The first group comes soon' },
  },
  {
    name: 'run events',
    path: '/runs/learn-to-carry?tab=log',
    shows: { full: 'Harder rows would teach more.' },
  },
  { name: 'run checkpoints', path: '/runs/learn-to-carry?tab=checkpoints', shows: { full: 'Reward then' } },
  { name: 'run configuration', path: '/runs/learn-to-carry?tab=config', shows: { full: 'algorithm: grpo' } },
  {
    name: 'chat',
    path: '/chat?run=learn-to-carry&checkpoint=80',
    shows: { full: 'Ask both the same', error: broken },
    act: async (page) => {
      await page.getByRole('button', { name: 'Sampling' }).click();
      await page.getByLabel('Message').fill('47 + 38');
      await page.getByLabel('Message').press('Enter');
      await expect(page.getByText('answer: 85')).toBeVisible();
    },
  },
  { name: 'chat without a model', path: '/chat', shows: { empty: 'Choose a model to talk to' } },
  {
    name: 'export',
    path: '/export',
    shows: { full: 'Exported before', empty: 'Nothing to export yet', error: broken },
    act: async (page) => {
      await page.getByRole('button', { name: 'Export adapter' }).click();
      await expect(page.getByText('Written, read back and verified')).toBeVisible();
    },
  },
  {
    name: 'export of a whole model',
    path: '/export',
    shows: { full: 'Exported before' },
    act: async (page) => {
      await page.getByRole('radio', { name: 'GGUF' }).click();
      await page.getByLabel('Numbers').click();
      await expect(page.getByRole('option', { name: /q8_0/ })).toBeVisible();
    },
  },
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
