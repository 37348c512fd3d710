import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { beforeEach, describe, expect, test } from 'vitest';
import { Roots } from '../places';
import { value, valuePath } from './values';
import { DatasetRegistry } from './registry';

const { rows } = value<{ rows: Record<string, unknown>[] }>('rows.json');
let base: string;
let registry: DatasetRegistry;

beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), 'atelier-source-'));
  registry = new DatasetRegistry({
    home: join(base, 'home'),
    bundled: join(base, 'bundled'),
    roots: new Roots(null),
  });
});

function file(name: string, text: string | Buffer): string {
  const path = join(base, name);
  mkdirSync(join(path, '..'), { recursive: true });
  writeFileSync(path, text);
  return path;
}

const rowsOf = async (id: string) =>
  (await registry.rows({ id, offset: 0, limit: 200 })).rows.map(({ row }) => row);
const jsonl = (...prompts: string[]) => prompts.map((prompt) => JSON.stringify({ prompt })).join('\n');

describe('folders', () => {
  test('that save_to_disk wrote, without splits and with', async () => {
    const saved = await registry.add({ path: valuePath('saved') });
    expect(saved).toMatchObject({ rows: 10, format: 'Arrow', split: null });
    expect(await rowsOf(saved.id)).toEqual(rows);
    const train = await registry.add({ path: valuePath('saved_dict') });
    expect(train).toMatchObject({ name: 'saved_dict (train)', rows: 7, files: 2, split: 'train' });
    expect(train.heldOut).toBe('saved-dict-test');
    expect(await rowsOf(train.id)).toEqual(rows.slice(0, 7));
    expect(await rowsOf('saved-dict-test')).toEqual(rows.slice(7));
    expect(await registry.add({ path: valuePath('saved_dict') })).toEqual(train);
  });

  test('whose state names a file outside are refused', async () => {
    file('secret.arrow', 'x');
    const state = (filename: string) => JSON.stringify({ _data_files: [{ filename }] });
    file('out/state.json', state('../secret.arrow'));
    await expect(registry.add({ path: join(base, 'out') })).rejects.toMatchObject({ code: 'invalid_file' });
    file('up/dataset_dict.json', '{"splits": ["../out"]}');
    await expect(registry.add({ path: join(base, 'up') })).rejects.toMatchObject({ code: 'invalid_file' });
    expect(await registry.list()).toEqual([]);
  });

  test('of files of one kind: one after another, with lines counted on', async () => {
    file('many/b.jsonl', `${jsonl('3')}\n\nbroken`);
    file('many/a.jsonl', `${jsonl('1', '2')}\n`);
    file('many/README.md', 'about');
    const many = await registry.add({ path: join(base, 'many') });
    expect(many).toMatchObject({ name: 'many', files: 2, rows: 3, split: null });
    expect(many.problems.first).toEqual([
      { line: 5, message: expect.stringMatching(/^b\.jsonl, 3: not JSON/) as string },
    ]);
    expect((await registry.rows({ id: 'many', offset: 1, limit: 9 })).rows).toEqual([
      { line: 2, row: { prompt: '2' } },
      { line: 3, row: { prompt: '3' } },
    ]);
  });

  test('whose names tell splits, as the Hub has them', async () => {
    file('hub/data/train-00000-of-00002.jsonl', jsonl('1'));
    file('hub/data/train-00001-of-00002.jsonl', jsonl('2'));
    file('hub/data/validation-00000-of-00001.jsonl', jsonl('3'));
    const train = await registry.add({ path: join(base, 'hub') });
    expect(train).toMatchObject({ id: 'hub-train', rows: 2, heldOut: 'hub-validation' });
    expect(await rowsOf('hub-validation')).toEqual([{ prompt: '3' }]);
    // what is another data set by now is not taken for the old one
    file('hub/data/test-00000-of-00001.jsonl', jsonl('4'));
    rmSync(join(base, 'hub/data/validation-00000-of-00001.jsonl'));
    expect(await registry.get('hub-validation')).toMatchObject({
      state: 'invalid',
      reason: expect.stringContaining('other splits') as string,
    });
  });

  test('of several kinds, of none and empty ones say so', async () => {
    file('two/a.jsonl', jsonl('1'));
    file('two/b.csv', 'prompt\n1');
    await expect(registry.add({ path: join(base, 'two') })).rejects.toThrow('several kinds: JSON Lines, CSV');
    file('none/a.txt', '1');
    await expect(registry.add({ path: join(base, 'none') })).rejects.toMatchObject({ code: 'unsupported' });
    mkdirSync(join(base, 'empty'));
    await expect(registry.add({ path: join(base, 'empty') })).rejects.toThrow('holds no file');
  });
});

describe('links', () => {
  test("an entry of the Hub's cache is read by its own name, or by its content", async () => {
    file('hub/blobs/e7a9', jsonl('1', '2'));
    mkdirSync(join(base, 'hub/snapshots/abc'), { recursive: true });
    cpSync(valuePath('zstd.parquet'), join(base, 'hub/blobs/77aa'));
    file('hub/blobs/99', 'prompt\n1');
    symlinkSync('../../blobs/e7a9', join(base, 'hub/snapshots/abc/rows'));
    symlinkSync('../../blobs/77aa', join(base, 'hub/snapshots/abc/table'));
    symlinkSync('../../blobs/99', join(base, 'hub/snapshots/abc/rows.csv'));
    const add = (name: string) => registry.add({ path: join(base, 'hub/snapshots/abc', name) });
    expect(await add('rows')).toMatchObject({ name: 'rows', format: 'JSON Lines', rows: 2 });
    expect(await add('table')).toMatchObject({ format: 'Parquet', rows: 10 });
    expect(await add('rows.csv')).toMatchObject({ name: 'rows', format: 'CSV', rows: 1 });
    expect((await registry.list()).map(({ state }) => state)).toEqual(['ready', 'ready', 'ready']);
  });

  test('a link out of a folder is refused', async () => {
    file('secret.jsonl', jsonl('s'));
    mkdirSync(join(base, 'linked'));
    symlinkSync('../secret.jsonl', join(base, 'linked/a.jsonl'));
    await expect(registry.add({ path: join(base, 'linked') })).rejects.toMatchObject({
      code: 'invalid_file',
    });
  });
});

describe('packed files', () => {
  test('are unpacked once, read like plain ones, and what was unpacked goes with them', async () => {
    const { id, name } = await registry.add({
      path: file('rows.csv.gz', gzipSync('prompt,answer\n1,2\n3,4')),
    });
    expect(name).toBe('rows');
    expect((await registry.rows({ id, offset: 1, limit: 1 })).rows).toEqual([
      { line: 3, row: { prompt: '3', answer: '4' } },
    ]);
    expect(readdirSync(join(base, 'home/datasets/unpacked'))).toHaveLength(1);
    await registry.remove(id);
    expect(readdirSync(join(base, 'home/datasets/unpacked'))).toEqual([]);
  });

  test('that are damaged or a bomb are refused and leave nothing', async () => {
    const good = gzipSync(jsonl('1', '2'));
    await expect(registry.add({ path: file('cut.jsonl.gz', good.subarray(0, 20)) })).rejects.toMatchObject({
      code: 'invalid_file',
    });
    const bomb = Buffer.concat(
      Array.from({ length: 12 }, () => gzipSync(Buffer.alloc(16 << 20, 32), { level: 9 })),
    );
    await expect(registry.add({ path: file('bomb.jsonl.gz', bomb) })).rejects.toThrow('200 times its size');
    expect(readdirSync(join(base, 'home/datasets/unpacked'))).toEqual([]);
  });
});

test('what cannot be shown as a whole is shown in part', async () => {
  const long = { prompt: 'x'.repeat(3 << 20), list: Array.from({ length: 9000 }, (_, k) => k), short: 1 };
  const { id } = await registry.add({ path: file('long.jsonl', JSON.stringify(long)) });
  const [row] = await rowsOf(id);
  expect(row).toMatchObject({ prompt: expect.stringContaining('3,145,728 characters') as string, short: 1 });
  expect(JSON.stringify(row).length).toBeLessThan(20_000);
});

test('columns that other programs would write into the prompt are told of', async () => {
  const row = { messages: [{ role: 'user', content: 'a' }], tools: [{ name: 'f' }], images: null };
  const dataset = await registry.add({ path: file('tools.jsonl', JSON.stringify(row)) });
  expect(dataset.notes).toEqual([expect.stringMatching(/"tools" is not used: which functions/)]);
});

test('more columns than are listed are told of', async () => {
  const wide = Object.fromEntries(Array.from({ length: 312 }, (_, k) => [`c${k}`, k]));
  const dataset = await registry.add({ path: file('wide.jsonl', JSON.stringify(wide)) });
  expect(dataset.columns).toHaveLength(200);
  expect(dataset.notes).toEqual([expect.stringContaining('312 columns')]);
});
