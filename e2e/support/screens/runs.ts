import { expect } from '@playwright/test';
import { broken, type ScreenCase } from './case';

/** From a new run to what is made of it. */
export const runScreens: readonly ScreenCase[] = [
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
    name: 'run timeline',
    path: '/runs/learn-to-carry?tab=time&step=60',
    shows: { full: 'Idle: waits for rewards' },
    act: async (page) => {
      await expect(
        page.getByRole('img', { name: /Engine: Sampling .*Update .*Rewards: Rewards .*Checkpoint/ }),
      ).toBeVisible();
      await page.getByRole('button', { name: 'Export trace' }).click();
      await expect(page.getByText('Trace written')).toBeVisible();
    },
  },
  {
    name: 'run timeline, as a table',
    path: '/runs/learn-to-carry?tab=time&view=table',
    shows: { full: 'Preparing rows' },
  },
  {
    name: 'run timeline, of many steps',
    path: '/runs/many-steps?tab=time',
    shows: { full: 'Over the steps' },
  },
  {
    name: 'run timeline, before the first step',
    path: '/runs/one-step?tab=time&step=0',
    shows: { full: 'Before step 1' },
    act: async (page) => {
      await page.getByRole('button', { name: 'Export trace' }).click();
      await expect(page.getByText('No trace was written.')).toBeVisible();
    },
  },
  {
    name: 'run timeline of an older run',
    path: '/runs/old-run?tab=time',
    shows: { full: 'before timelines were kept' },
  },
  {
    name: 'run timeline, none yet',
    path: '/runs/queued-run?tab=time',
    shows: { full: 'The first timeline comes' },
  },
  {
    name: 'run timeline of a step that is gone',
    path: '/runs/learn-to-carry?tab=time&step=999',
    shows: { full: 'Show the newest step' },
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
    name: 'export of all parameters',
    path: '/export?run=support-sft',
    shows: { full: 'there is no adapter' },
    act: async (page) => {
      await expect(page.getByRole('radio', { name: 'PEFT adapter' })).toBeDisabled();
      await expect(page.getByRole('radio', { name: 'Merged' })).toBeChecked();
      // the arrow keys pass over what cannot be chosen
      await page.getByRole('radio', { name: 'Merged' }).press('ArrowRight');
      await expect(page.getByRole('radio', { name: 'MLX' })).toBeFocused();
      await expect(page.getByRole('button', { name: 'Export for MLX' })).toBeEnabled();
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
];
