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

test('columns whose names tell nothing are chosen by hand, and what they leave is seen before it is trained', async ({
  page,
}) => {
  await page.goto(await app.nextAddress());
  await expect(page.getByText('Run the demo')).toBeVisible();
  await goTo(page, 'Data');
  const rows = [
    { q: 'What is 2 + 3?', good: 'answer: 5', bad: 'answer: 6' },
    { q: 'What is 4 + 4?', good: 'answer: 8', bad: 'answer: 7' },
    { q: 'What is 1 + 1?', good: 'answer: 2', bad: 'answer: 2' },
    { q: '', good: 'answer: 2', bad: 'answer: 3' },
  ];
  await page.getByLabel('File to upload').setInputFiles({
    name: 'judged.jsonl',
    mimeType: 'application/jsonl',
    buffer: Buffer.from(rows.map((row) => JSON.stringify(row)).join('\n')),
  });
  await expect(page.getByText('Not recognised')).toBeVisible();
  await page.getByRole('tab', { name: 'Columns' }).click();
  await expect(page.getByText('With these columns no algorithm can be trained.')).toBeVisible();
  await choose(page, 'Kind of data', /^Pairs of answers/);
  await choose(page, 'Better answer', /^good/);
  await expect(page.getByText('Choose the column that plays this part.')).toBeVisible();
  await choose(page, 'Worse answer', /^bad/);
  await choose(page, 'Prompt', /^q/);

  await test.step('the rows as DPO would have them, and what it would leave out', async () => {
    await expect(page.getByText('2 of 4 rows')).toBeVisible();
    const left = page.getByRole('table', { name: 'Rows that are left out' });
    await expect(left.getByRole('row', { name: /Two equal answers 1 Line 3/ })).toBeVisible();
    await expect(left.getByRole('row', { name: /Empty 1 Line 4: "q" is empty/ })).toBeVisible();
    await expect(page.getByRole('group', { name: 'Row 1, better answer, by token' })).toContainText(
      'answer: 5',
    );
    await expect(page.getByRole('group', { name: 'Row 1, worse answer, by token' })).toContainText(
      'answer: 6',
    );
  });

  await test.step('it is kept: over a reload before it is saved, and for a run after', async () => {
    await page.reload();
    await expect(page.getByText('Changed, not saved')).toBeVisible();
    await page.getByRole('button', { name: 'Save' }).click();
    await expect(page.getByText('As chosen for this data set')).toBeVisible();
    await expect(page.getByText(/^Can be trained with .*DPO/)).toBeVisible();
    await page.getByRole('link', { name: 'Train on this' }).click();
    await expect(page.getByRole('radio', { name: /^DPO/ })).toBeChecked();
    await expect(page.getByRole('combobox', { name: 'Better answer' })).toContainText('good');
    await expect(page.getByRole('combobox', { name: 'Worse answer' })).toContainText('bad');
  });

  await test.step('and taken back', async () => {
    await goTo(page, 'Data');
    await page.getByRole('link', { name: 'judged' }).click();
    await page.getByRole('tab', { name: 'Columns' }).click();
    await page.getByRole('button', { name: 'Back to the suggestion' }).click();
    await expect(page.getByText('Not recognised')).toBeVisible();
  });
});
