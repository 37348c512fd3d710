import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { conform } from './conform';
import { format, summary } from './report';

const schedules = 'optim/lr_schedules.json';
let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'fixtures-'));
  mkdirSync(join(folder, 'optim'));
  cpSync(fileURLToPath(new URL(`fixtures/${schedules}`, import.meta.url)), join(folder, schedules));
});
afterEach(() => rmSync(folder, { recursive: true }));

it('says how each file came out; what is not in the folder is absent', async () => {
  const lines = await conform(folder, 'cpu');
  expect(format(lines[0])).toMatch(
    /^pass +· optim\/lr_schedules\.json · optim · transformers==5\.24\.0 · max error \S+ \(tolerance 0\.000001\)$/,
  );
  expect(lines.map(format)).toContain(
    'absent    · models/qwen3_tied/config.json · models · not in the folder',
  );
  expect(summary(lines)).toBe('1 passed, 0 failed, 237 absent, 0 not built');
});

it('fails on a wrong number and names it', async () => {
  const text = readFileSync(join(folder, schedules), 'utf8').replace('0.9903926402', '0.9904926402');
  writeFileSync(join(folder, schedules), text);
  const [line] = await conform(folder, 'cpu');
  expect(line.status).toBe('fail');
  expect(line.detail).toMatch(/cosine\[5\]: 0\.99039\d+, expected 0\.9904926402/);
});

it('fails on a file that no item reads', async () => {
  writeFileSync(join(folder, 'optim', 'lion.json'), '{}');
  const line = (await conform(folder, 'cpu')).find((l) => l.path === 'optim/lion.json');
  expect(line).toEqual({ path: 'optim/lion.json', status: 'fail', detail: 'no item reads it' });
});

it('names what an item needs and does not find', async () => {
  mkdirSync(join(folder, 'train', 'sft_lora'), { recursive: true });
  writeFileSync(
    join(folder, 'train', 'sft_lora', 'train.json'),
    '{"base_model": "models/qwen3_tied", "config": {}}',
  );
  const lines = await conform(folder, 'cpu');
  expect(lines.find((l) => l.path === 'train/sft_lora/train.json')).toMatchObject({
    status: 'absent',
    detail: 'needs models/qwen3_tied, which is not there',
  });
});
