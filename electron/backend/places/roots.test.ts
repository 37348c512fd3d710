import { mkdir, mkdtemp, realpath, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { makeId } from './id';
import { Roots } from './roots';

let base: string;
let roots: Roots;

beforeAll(async () => {
  base = await realpath(await mkdtemp(join(tmpdir(), 'atelier-roots-')));
  await mkdir(join(base, 'models/tiny'), { recursive: true });
  await mkdir(join(base, 'models-evil'));
  await mkdir(join(base, 'models/.hidden'));
  await writeFile(join(base, 'models/tiny/config.json'), '{}');
  await writeFile(join(base, 'models/tiny/model.safetensors'), '');
  await writeFile(join(base, 'models/q4.GGUF'), 'x');
  await writeFile(join(base, 'models/rows.jsonl'), '{}');
  await writeFile(join(base, 'secret'), 's');
  await symlink(join(base, 'secret'), join(base, 'models/link'));
  await symlink(join(base, 'models/tiny'), join(base, 'models/inner'));
  roots = new Roots([join(base, 'models')]);
});

test('browse shows what may be picked, and what it is', async () => {
  const { entries, parent } = await roots.browse(join(base, 'models'));
  expect(parent).toBeNull();
  expect(entries.map(({ name, kind, looksLike }) => [name, kind, looksLike])).toEqual([
    ['inner', 'folder', 'model'],
    ['tiny', 'folder', 'model'],
    ['q4.GGUF', 'file', 'gguf'],
    ['rows.jsonl', 'file', 'dataset'],
  ]);
  expect((await roots.browse(join(base, 'models/tiny'))).parent).toBe(join(base, 'models'));
});

test.each([
  ['..', 'models/../secret'],
  ['a sibling with the root as its prefix', 'models-evil'],
  ['a link out', 'models/link'],
  ['what is not there', 'nothing/at/all'],
  ['the other separator', 'models\\..\\secret'],
])('%s stays out', async (_, path) => {
  await expect(roots.resolve(`${base}/${path}`)).rejects.toMatchObject({ code: 'forbidden' });
});

test('relative paths and NUL are refused, absence is told inside only', async () => {
  await expect(roots.resolve('models')).rejects.toMatchObject({ code: 'invalid_input' });
  await expect(roots.resolve(`${base}/models\0x`)).rejects.toMatchObject({ code: 'invalid_input' });
  await expect(roots.resolve(join(base, 'models/none'))).rejects.toMatchObject({ code: 'not_found' });
  expect(await roots.resolve(join(base, 'models/inner'))).toBe(join(base, 'models/tiny'));
});

test('the desktop may open what its dialog gave', async () => {
  expect(await new Roots(null).resolve(join(base, 'secret'))).toBe(join(base, 'secret'));
  expect(new Roots(null).list()).toEqual([]);
});

test('ids come from names', () => {
  expect(makeId('Carry the one!', new Set(), 'x')).toBe('carry-the-one');
  expect(makeId('Carry the one!', new Set(['carry-the-one']), 'x')).toBe('carry-the-one-2');
  expect(makeId('你好', new Set(), 'dataset')).toBe('dataset');
});
