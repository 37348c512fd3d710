import { mkdir, mkdtemp, realpath, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { fileInside } from './inside';

let repo: string;
let snapshot: string;
beforeAll(async () => {
  repo = join(await realpath(await mkdtemp(join(tmpdir(), 'atelier-inside-'))), 'models--a--b');
  snapshot = join(repo, 'snapshots/abc');
  await mkdir(join(snapshot, 'sub'), { recursive: true });
  await mkdir(join(repo, 'blobs'));
  await writeFile(join(repo, 'blobs/e7a9'), 'x');
  await writeFile(join(repo, 'secret'), 'x');
  await writeFile(join(snapshot, 'sub/own'), 'x');
  await symlink('../../blobs/e7a9', join(snapshot, 'model.safetensors'));
  await symlink('../../secret', join(snapshot, 'stolen'));
});

test('own files and links into the cache of the same repository', async () => {
  expect(await fileInside(snapshot, 'sub/own')).toBe(join(snapshot, 'sub/own'));
  expect(await fileInside(snapshot, 'model.safetensors')).toBe(join(repo, 'blobs/e7a9'));
});

test.each([
  '../../secret',
  '/etc/passwd',
  'sub/../own',
  'C:x',
  'a\\b',
  'x\0',
  'nul',
  'sub/',
  'own.',
  'stolen',
  '',
])('%j leads nowhere', async (name) => {
  await expect(fileInside(snapshot, name)).rejects.toMatchObject({ code: 'invalid_file' });
});
