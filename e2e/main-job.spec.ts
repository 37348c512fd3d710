import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { NewRunPage } from './pages/new-run';
import { RewardPage } from './pages/reward';
import { RunPage } from './pages/run';
import { choose, goTo } from './pages/sidebar';
import { startApp, type App } from './support/app';
import { expectPeftFolder } from './support/peft';
import { expect, test } from './support/test';

const minutes = 60_000;
const STEPS = 40;

let app: App;
test.beforeAll(async () => {
  app = await startApp();
});
test.afterAll(() => app?.stop());

test('the main job: from a model to an exported adapter, with the real engine', async ({ page }) => {
  test.setTimeout(25 * minutes);
  const newRun = new NewRunPage(page);
  const reward = new RewardPage(page);
  const run = new RunPage(page);

  await test.step('a page with the code gets in, and the code leaves the address', async () => {
    await page.goto(app.address);
    await expect(page.getByText('Run the demo')).toBeVisible();
    expect(page.url()).not.toContain('code=');
  });

  await test.step('pick the model, GRPO and data', async () => {
    await newRun.open();
    await newRun.chooseModel(/Abacus/i);
    await newRun.chooseAlgorithm('GRPO');
    await newRun.chooseData(/^Sums(?!,)/);
  });

  await test.step('edit the reward and test it on answers sampled now', async () => {
    await newRun.editReward();
    const code = await reward.code();
    expect(code).toContain('export default function reward');
    await reward.write(code.replace('0.1', '0.05'));
    await reward.test();
    await expect(reward.results.getByText(/^expects \d+/)).toHaveCount(4);
    await expect(reward.results.getByText(/^answer: \d+|answer: \d+$/).first()).toBeVisible();
    await reward.saveCopy('Sums, strict');
  });

  await test.step('start the run with it', async () => {
    await newRun.open();
    await newRun.chooseReward('Sums, strict');
    await newRun.set('Steps', STEPS);
    await newRun.set('Learning rate', 5e-4);
    await newRun.start();
    await run.expectStatus('Running', 2 * minutes);
  });

  await test.step('the curve and the rollouts appear while it runs', async () => {
    await run.expectStep(3, 4 * minutes);
    await expect(run.chart(/^Reward, mean ± spread, steps 1 to/)).toBeVisible();
    await run.openTab('Rollouts');
    await expect(page.getByRole('list', { name: 'Rollouts' }).getByRole('button')).toHaveCount(64, {
      timeout: minutes,
    });
    await page.keyboard.press('j');
    await page.keyboard.press('t');
    await expect(page.getByRole('group', { name: 'Answer by token' })).toBeVisible();
    await expect(page.getByText('Its group, best first')).toBeVisible();
    expect(page.url()).toMatch(/rollout=\d+/);
  });

  await test.step('pause, and resume where it stood', async () => {
    await run.pause();
    await run.expectStatus('Paused', 2 * minutes);
    const { steps } = await run.series('Reward');
    const stood = steps.at(-1)!;
    await run.resume();
    await run.expectStatus('Running', minutes);
    await run.expectStep(stood + 2, 4 * minutes);
  });

  await test.step('reload in mid-run: no point is lost', async () => {
    const before = (await run.series('Reward')).steps.at(-1)!;
    await page.reload();
    await run.expectStep(before, minutes);
    const { steps } = await run.series('Reward');
    expect(steps).toEqual(Array.from({ length: steps.length }, (_, index) => index + 1));
    expect(steps.length).toBeGreaterThanOrEqual(before);
  });

  await test.step('it completes, and the reward has risen', async () => {
    await run.expectStatus('Completed', 12 * minutes);
    const { steps, values } = await run.series('Reward');
    expect(steps).toEqual(Array.from({ length: STEPS }, (_, index) => index + 1));
    const mean = (list: number[]) => list.reduce((sum, value) => sum + value, 0) / list.length;
    expect(mean(values.slice(-5)) - mean(values.slice(0, 5))).toBeGreaterThan(0.15);
    await expect(page.getByText(`Rows never trained on, before and after ${STEPS} steps`)).toBeVisible();
  });

  await test.step('where the time of its steps went', async () => {
    // of no step in particular
    await page.goto(new URL(`/runs/${run.id}`, page.url()).href);
    await run.openTab('Timeline');
    await expect(page.getByRole('heading', { name: `Step ${STEPS}` })).toBeVisible();
    const lanes = /Engine: Sampling .*Update .*Rewards: Rewards .*Backend: .*Checkpoint/;
    await expect(page.getByRole('img', { name: lanes })).toBeVisible();
    await page.getByRole('button', { name: 'Step before' }).click();
    await expect(page.getByRole('heading', { name: `Step ${STEPS - 1}` })).toBeVisible();
    await page.getByRole('button', { name: 'Export trace' }).click();
    const shown = await page.locator('code', { hasText: 'trace.json' }).innerText();
    const trace = await readFile(shown.replace(/^~/, process.env['HOME'] ?? ''), 'utf8');
    expect((JSON.parse(trace) as { traceEvents: unknown[] }).traceEvents.length).toBeGreaterThan(4 * STEPS);
    await run.openTab('Overview');
  });

  await test.step('chat with base and adapter side by side', async () => {
    await page.getByRole('link', { name: 'Chat' }).last().click();
    await page.getByRole('button', { name: 'Sampling' }).click();
    await page.getByLabel('Temperature').fill('0');
    await page.getByLabel('Message').fill('What is 478 + 367?');
    await page.getByLabel('Message').press('Enter');
    const replies = page.getByRole('region', { name: 'Conversation' }).getByRole('region');
    await expect(replies).toHaveCount(2);
    for (const reply of await replies.all())
      await expect(reply).toContainText(/tokens\/s/, { timeout: minutes });
    await expect(replies.nth(1)).toContainText('answer:');
  });

  await test.step('export: exactly what PEFT writes', async () => {
    await goTo(page, 'Export');
    await choose(page, 'Run', /GRPO|Sums/);
    await page.getByRole('button', { name: 'Export adapter' }).click();
    await expect(page.getByText('Written, read back and verified')).toBeVisible({ timeout: 2 * minutes });
    const shown = await page.locator('code', { hasText: '/exports/' }).first().innerText();
    const config = JSON.parse(
      await readFile(join(import.meta.dirname, '../resources/models/abacus/config.json'), 'utf8'),
    ) as { num_hidden_layers: number };
    await expectPeftFolder(shown.replace(/^~/, process.env['HOME'] ?? ''), {
      layers: config.num_hidden_layers,
      rank: 16,
      alpha: 32,
    });
  });
});
