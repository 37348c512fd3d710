import { spawnSync } from 'node:child_process';
import { NewRunPage } from './pages/new-run';
import { RunPage } from './pages/run';
import { startApp, type App } from './support/app';
import { expect, test } from './support/test';

const minutes = 60_000;

let app: App;
test.beforeAll(async () => {
  app = await startApp();
});
test.afterAll(() => app?.stop());

/** Process ids of what `atelier serve` has started: the backend, or none between two. */
function backends(): number[] {
  const { stdout } = spawnSync('pgrep', ['-P', String(app.pid)], { encoding: 'utf8' });
  return stdout.split('\n').filter(Boolean).map(Number);
}

test('the backend is killed in mid-run: the page comes back by itself and the run goes on to its end', async ({
  page,
  complaints,
}) => {
  test.setTimeout(15 * minutes);
  const newRun = new NewRunPage(page);
  const run = new RunPage(page);
  await page.goto(app.address);
  await newRun.open();
  await newRun.set('Steps', 20);
  await page.getByRole('radio', { name: 'Advanced' }).click();
  await newRun.set('Checkpoint every', 4);
  await newRun.start();
  await run.expectStep(6, 6 * minutes);

  const [victim] = backends();
  process.kill(victim!, 'SIGKILL');
  await expect.poll(() => backends().some((pid) => pid !== victim), { timeout: minutes }).toBe(true);
  // what a browser logs of the lost socket is the point here, not a fault of the page
  await run.expectStatus(/Running|Interrupted|Preparing/, minutes);
  complaints.splice(0, complaints.length, ...complaints.filter((text) => !/WebSocket connection/.test(text)));

  const resume = page.getByRole('button', { name: 'Resume' });
  if (await resume.isVisible()) await resume.click();
  await run.expectStatus('Completed', 8 * minutes);
  complaints.splice(0, complaints.length, ...complaints.filter((text) => !/WebSocket connection/.test(text)));
  const { steps } = await run.series('Reward');
  expect(steps).toEqual(Array.from({ length: 20 }, (_, index) => index + 1));
  await run.openTab('Events');
  await expect(page.getByText(/[Rr]esumed|went on|goes on/).first()).toBeVisible();
});
