import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { choose, goTo } from './pages/sidebar';
import { startApp, type App } from './support/app';
import { expect, test } from './support/test';

const bundled = join(import.meta.dirname, '../resources/models/abacus');
const longName = 'a-model-folder-with-a-name-as-long-as-merged-models-really-have-2026-11-30-instruct-v2';

let app: App;
let models: string;
test.beforeAll(async () => {
  models = await mkdtemp(join(tmpdir(), 'atelier-models-'));
  await cp(bundled, join(models, longName), { recursive: true });
  await cp(bundled, join(models, 'broken'), { recursive: true });
  await writeFile(join(models, 'broken', 'model.safetensors'), 'not weights');
  await mkdir(join(models, 'notes'));
  app = await startApp('--models', models);
});
test.afterAll(async () => {
  await app?.stop();
  await rm(models, { recursive: true, force: true });
});

test('a model folder and data come from the page to the real backend', async ({ page }) => {
  await page.goto(app.address);
  await expect(page.getByText('Run the demo')).toBeVisible();

  await test.step('a folder without weights that can be read is refused, and says why', async () => {
    await goTo(page, 'Models');
    await page.getByRole('button', { name: 'Add folder or GGUF…' }).click();
    await page.getByRole('button', { name: 'Add broken' }).click();
    await expect(page.getByRole('alert')).toContainText('model.safetensors');
  });

  await test.step('folders are browsed, and one is added where it lies', async () => {
    await page.getByRole('button', { name: 'notes' }).click();
    await expect(page.getByText('Nothing here that could be added.')).toBeVisible();
    await page.getByRole('button', { name: 'Up' }).click();
    await page.getByRole('button', { name: `Add ${longName}` }).click();
    await expect(page.getByRole('heading', { level: 1 })).toContainText('Ready');
    await expect(page.getByText(join(models, longName))).toBeVisible();
    await goTo(page, 'Models');
    await expect(page.getByText(join(models, longName))).toBeVisible();
  });

  await test.step('a file of several chunks is uploaded whole, and its bad line is told by number', async () => {
    await goTo(page, 'Data');
    const row = (index: number) =>
      JSON.stringify({ prompt: `What is ${index} + 1?`, answer: `${index + 1}` });
    const lines = Array.from({ length: 30_000 }, (_, index) => (index === 20_000 ? '{"prompt"' : row(index)));
    await page.getByLabel('File to upload').setInputFiles({
      name: 'plus-one.jsonl',
      mimeType: 'application/jsonl',
      buffer: Buffer.from(`${lines.join('\n')}\n`),
    });
    await expect(page.getByRole('heading', { level: 1 })).toContainText('plus-one');
    await expect(page.getByText('29\u202f999 rows')).toBeVisible();
    await page.getByRole('tab', { name: /^Problems/ }).click();
    await expect(page.getByRole('row', { name: /20.001/ })).toBeVisible();
  });

  await test.step('what is no data is refused by name', async () => {
    await goTo(page, 'Data');
    await page.getByLabel('File to upload').setInputFiles({
      name: 'photo.png',
      mimeType: 'image/png',
      buffer: Buffer.from('PNG'),
    });
    await expect(page.getByRole('alert')).toContainText('photo.png was not added.');
  });

  await test.step('both can be chosen for a run', async () => {
    await goTo(page, 'Data');
    await page.getByRole('link', { name: 'plus-one' }).click();
    await page.getByRole('link', { name: 'Train on this' }).click();
    await expect(page.getByRole('combobox', { name: 'Data set', exact: true })).toContainText('plus-one');
    await page.getByRole('combobox', { name: 'Base model', exact: true }).click();
    await page.getByRole('option').filter({ hasText: longName }).click();
    await choose(page, 'Reward', /^Right sum/);
    await expect(page.getByText('Answers sampled')).toBeVisible();
    await expect(page.getByRole('button', { name: 'Start run' })).toBeEnabled();
  });
});
