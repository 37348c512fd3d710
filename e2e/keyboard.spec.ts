import type { Locator, Page } from '@playwright/test';
import { expect, test } from './support/test';

test('the palette, the skip link and the sidebar work without a pointer', async ({ page, fixtures }) => {
  await page.goto((await fixtures('full')).address('/'));
  await expect(page.getByText('Sampling 64 answers')).toBeVisible();
  await page.keyboard.press('Tab');
  await expect(page.getByRole('link', { name: 'Skip to content' })).toBeFocused();
  await page.keyboard.press('Enter');
  await page.keyboard.press('Control+k');
  await page.getByRole('combobox').fill('learn to');
  await page.keyboard.press('Enter');
  await expect(page).toHaveURL(/\/runs\/learn-to-carry/);
  await expect(page.getByRole('main')).toBeFocused();
});

test('a curve is read step by step with the arrow keys and opens the answers behind a point', async ({
  page,
  fixtures,
}) => {
  await page.goto((await fixtures('full')).address('/runs/learn-to-carry'));
  const chart = page.getByRole('group', {
    name: /^Reward, mean ± spread, steps 1 to 80: from 0\.\d+ to 0\.\d+/,
  });
  await chart.focus();
  await page.keyboard.press('Shift+ArrowLeft');
  await page.keyboard.press('ArrowLeft');
  // one crosshair for the whole board
  await expect(page.locator('figure').getByText('69', { exact: true }).first()).toBeVisible();
  expect(await page.locator('figure').getByText('69', { exact: true }).count()).toBeGreaterThan(3);
  await page.keyboard.press('Enter');
  await expect(page).toHaveURL(/tab=rollouts.*step=69|step=69.*tab=rollouts/);
  await expect(page.getByText('Step 69', { exact: true })).toBeVisible();
});

test('answers are read with j and k; what comes meanwhile does not move them', async ({ page, fixtures }) => {
  await page.goto((await fixtures('full')).address('/runs/carry-again?tab=rollouts'));
  await expect(page.getByText('Following the newest step')).toBeVisible();
  // the stored steps have all come
  await expect(page.getByText('Step 41', { exact: true })).toBeVisible();
  const list = page.getByRole('list', { name: 'Rollouts' });
  const first = await list.locator('[aria-current=true]').innerText();
  await page.keyboard.press('j');
  await page.keyboard.press('j');
  await expect(list.locator('[aria-current=true]')).not.toHaveText(first);
  await page.keyboard.press('k');
  await page.keyboard.press('h');
  await expect(page.getByText('Step 40', { exact: true })).toBeVisible();
  await expect(page.getByRole('button', { name: /64 new Follow/ })).toBeVisible();
  await page.keyboard.press('t');
  const tokens = page.getByRole('group', { name: 'Answer by token' });
  await tokens.focus();
  await page.keyboard.press('ArrowRight');
  await expect(page.getByText(/#1 .* id \d+ .* log p/)).toBeVisible();
  await page.keyboard.press('/');
  await page.keyboard.type('carry 1');
  await expect(page).toHaveURL(/q=carry/);
});

test('five thousand answers are one list: only what is near is drawn, and j and k go on past what is loaded', async ({
  page,
  fixtures,
}) => {
  await page.goto((await fixtures('full')).address('/runs/learn-to-carry?tab=rollouts&q=ones&sort=reward'));
  const list = page.getByRole('list', { name: 'Rollouts' });
  const rows = list.getByRole('button');
  await expect(page.getByText('5\u202f120 shown')).toBeVisible();
  await list.evaluate((element) => (element.parentElement!.scrollTop = element.parentElement!.scrollHeight));
  await expect(list.locator('[aria-posinset="5120"]')).toBeVisible();
  expect(await rows.count()).toBeLessThan(600);
  await list.locator('[aria-posinset="5100"]').getByRole('button').click();
  await expect(page).toHaveURL(/page=53/);
  // over the edge of a page, back and forth
  await list.locator('[aria-posinset="5089"]').getByRole('button').click();
  await page.keyboard.press('k');
  await expect(list.locator('[aria-posinset="5088"] [aria-current=true]')).toBeInViewport();
  await page.keyboard.press('j');
  await expect(list.locator('[aria-posinset="5089"] [aria-current=true]')).toBeInViewport();
  // a reload stays there, and the group is whole although the list is sorted otherwise
  await page.reload();
  await expect(list.locator('[aria-posinset="5089"] [aria-current=true]')).toBeInViewport();
  await expect(page.getByText(/answer \d of 8$/)).toBeVisible();
});

test('the steps end where the run does', async ({ page, fixtures }) => {
  await page.goto((await fixtures('full')).address('/runs/learn-to-carry?tab=rollouts&step=79'));
  await expect(page.getByText('Its group, best first')).toBeVisible();
  await page.keyboard.press('l');
  await expect(page.getByText('Step 80', { exact: true })).toBeVisible();
  await page.keyboard.press('l');
  await page.keyboard.press('t');
  await expect(page.getByRole('group', { name: 'Answer by token' })).toBeVisible();
  await expect(page.getByText('Step 80', { exact: true })).toBeVisible();
});

test('where the time of the steps went is read step by step without a pointer', async ({
  page,
  fixtures,
}) => {
  await page.goto((await fixtures('full')).address('/runs/learn-to-carry?tab=time'));
  const heading = page.getByRole('heading', { level: 2 }).first();
  await expect(heading).toHaveText('Step 80');
  await page.getByRole('group', { name: /^Share of the time of steps 1 to 80/ }).focus();
  await page.keyboard.press('ArrowLeft');
  await expect(heading).toHaveText('Step 79');
  expect(page.url()).toContain('step=79');
  await page.keyboard.press('ArrowRight');
  await page.keyboard.press('ArrowRight');
  await expect(heading).toHaveText('Step 80');
  await page.getByRole('radio', { name: 'Charts' }).focus();
  await page.keyboard.press('ArrowRight');
  const spans = page.getByRole('table', { name: 'Spans of the step' });
  await expect(spans.getByRole('row', { name: /^Engine Sampling .* ms/ })).toBeVisible();
  await expect(page.getByRole('table', { name: 'Time by step' }).getByRole('row')).toHaveCount(51);
});

test('a run is renamed in its header', async ({ page, fixtures }) => {
  await page.goto((await fixtures('full')).address('/runs/support-sft'));
  const heading = page.getByRole('heading', { level: 1 });
  await page.getByRole('button', { name: 'Rename' }).click();
  await page.keyboard.type('Not this');
  await page.keyboard.press('Escape');
  await expect(heading).toContainText('SFT, support mails');
  await expect(page.getByRole('button', { name: 'Rename' })).toBeFocused();
  await page.keyboard.press('Enter');
  await page.keyboard.type('taken away');
  await page.keyboard.press('Enter');
  await expect(page.getByRole('alert')).toContainText('no space left on device');
  await page.getByLabel('Name of the run').fill('Mails, first try');
  await page.keyboard.press('Enter');
  await expect(heading).toContainText('Mails, first try');
  await page.getByRole('link', { name: 'Runs', exact: true }).click();
  await expect(page.getByRole('link', { name: 'Mails, first try' })).toBeVisible();
});

for (const id of ['many-steps', 'short-answers'])
  test(`a run that was stopped or failed goes on from its header: ${id}`, async ({ page, fixtures }) => {
    await page.goto((await fixtures('full')).address(`/runs/${id}`));
    await page.getByRole('button', { name: 'Resume' }).press('Enter');
    await expect(page.getByRole('dialog')).toHaveCount(0);
  });

test('a problem names its field and leads to it', async ({ page, fixtures }) => {
  await page.goto((await fixtures('full')).address('/new'));
  await page.getByLabel('Learning rate').fill('0.5');
  await expect(page.getByText('A learning rate of 0.5 breaks every model.').first()).toBeVisible();
  await expect(page.getByRole('button', { name: 'Start run' })).toBeDisabled();
  await page.getByRole('list', { name: 'Problems' }).getByRole('button', { name: 'Show' }).click();
  await expect(page.getByLabel('Learning rate')).toBeFocused();
  // the draft survives a reload
  await page.reload();
  await expect(page.getByLabel('Learning rate')).toHaveValue('0.5');
});

/** Presses Tab until what is wanted has the focus; all on the way must be in view and show it. */
async function tabTo(page: Page, wanted: Locator): Promise<void> {
  for (let presses = 0; presses < 60; presses++) {
    await page.keyboard.press('Tab');
    const focused = page.locator(':focus');
    await expect(focused).toBeInViewport();
    await expect(focused).not.toHaveCSS('outline-style', 'none');
    if (await wanted.evaluate((element) => element === document.activeElement)) return;
  }
  throw new Error(`Tab does not lead to ${String(wanted)}`);
}

test('a run is set up and started without a pointer', async ({ page, fixtures }) => {
  await page.goto((await fixtures('full')).address('/new'));
  await expect(page.getByText('Answers sampled')).toBeVisible();
  const box = (name: string) => page.getByRole('combobox', { name, exact: true });
  /** In a list that opens, is moved in by letters, and gives the focus back. */
  const pick = async (name: string, letters: string, chosen: RegExp) => {
    await tabTo(page, box(name));
    await page.keyboard.press('Enter');
    await page.keyboard.type(letters);
    await page.keyboard.press('Enter');
    await expect(box(name)).toHaveText(chosen);
    await expect(box(name)).toBeFocused();
  };

  await pick('Base model', 'smol', /SmolLM2 135M Instruct/);
  await test.step('the algorithm: one stop, arrow keys within', async () => {
    await tabTo(page, page.getByRole('radio', { name: /^GRPO R/ }));
    await page.keyboard.press('ArrowLeft');
    await page.keyboard.press('ArrowRight');
    await page.keyboard.press('ArrowRight');
    await expect(page.getByRole('radio', { name: /^GSPO/ })).toBeChecked();
    await expect(page.getByRole('radio', { name: /^GSPO/ })).toBeFocused();
  });
  await test.step('data, its columns and a second reward', async () => {
    await tabTo(page, box('Data set'));
    await tabTo(page, box('Prompt'));
    await page.keyboard.press('Enter');
    await expect(page.getByRole('option', { name: 'None' })).toBeVisible();
    await page.keyboard.press('Escape');
    await expect(box('Prompt')).toBeFocused();
    await tabTo(page, page.getByRole('button', { name: 'Add a reward' }));
    await page.keyboard.press('Enter');
    await pick('Reward 2', 'right and', /Right and short/);
  });
  await test.step('settings: all of them, and one changed', async () => {
    await tabTo(page, page.getByRole('radio', { name: 'Simple', exact: true }));
    await page.keyboard.press('ArrowRight');
    await expect(page.getByRole('radio', { name: 'Advanced' })).toBeFocused();
    await tabTo(page, page.getByLabel('Steps', { exact: true }));
    await page.keyboard.press('ArrowUp');
    await expect(page.getByText('1 changed')).toBeVisible();
  });
  await test.step('start', async () => {
    await tabTo(page, page.getByRole('button', { name: 'Start run' }));
    await page.keyboard.press('Enter');
    await expect(page).toHaveURL(/\/runs\/carry-again/);
    await expect(page.getByRole('main')).toBeFocused();
  });
});
