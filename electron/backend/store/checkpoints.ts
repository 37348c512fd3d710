import { randomBytes } from 'node:crypto';
import { readdir, readFile, stat } from 'node:fs/promises';
import { dirname, join, relative, sep } from 'node:path';
import { z } from 'zod';
import { AtelierError } from '../../../shared/rpc';
import { checkRoom, files, sha256, type Files } from './files';
import type { CommittedCheckpoint } from './reader';
import type { RunStore } from './run-store';

export const CHECKPOINTS = 'checkpoints';
const TEMPORARY = '.tmp-';

export const Manifest = z.object({
  format: z.literal(1),
  step: z.number().int(),
  /** Hashes of model, data, reward, template: what the state belongs to. */
  belongsTo: z.record(z.string(), z.string()),
  files: z.array(z.object({ name: z.string(), bytes: z.number(), sha256: z.string() })),
});
export type Manifest = z.infer<typeof Manifest>;

export interface CheckpointRequest {
  step: number;
  reward: number | null;
  belongsTo: Record<string, string>;
  /** About how much room it takes; checked before a byte is written. */
  expectedBytes: number;
  /** Writes the files into an empty folder. */
  fill(folder: string): Promise<void>;
  /** Committed checkpoints kept; the one with the best reward is kept beside them. */
  keep: number;
}

/**
 * Writes a checkpoint that exists wholly or not at all: temporary folder, contents synced, manifest, rename,
 * parent synced, row committed, and only then older ones pruned.
 * @throws AtelierError disk_full before writing; else what the file system says. Nothing older is lost.
 */
export async function writeCheckpoint(
  runFolder: string,
  store: RunStore,
  request: CheckpointRequest,
  using: Files = files,
): Promise<void> {
  const parent = join(runFolder, CHECKPOINTS);
  const name = `step-${String(request.step).padStart(8, '0')}`;
  await using.mkdir(parent);
  await checkRoom('A checkpoint', parent, request.expectedBytes, using);
  const temporary = join(parent, `${TEMPORARY}${name}-${randomBytes(4).toString('hex')}`);
  try {
    await using.mkdir(temporary);
    await request.fill(temporary);
    const manifest = await describe(temporary, request);
    for (const file of manifest.files) await using.sync(join(temporary, file.name));
    const text = JSON.stringify(manifest, null, 2);
    await using.write(join(temporary, 'manifest.json'), text);
    await using.sync(join(temporary, 'manifest.json'));
    const inside = new Set(manifest.files.map(({ name }) => dirname(name)).filter((name) => name !== '.'));
    for (const name of inside) await using.sync(join(temporary, name));
    await using.sync(temporary);
    // of a run that died between this rename and the row: never committed, so nothing refers to it
    await using.remove(join(parent, name));
    await using.rename(temporary, join(parent, name));
    await using.sync(parent);
    const bytes = manifest.files.reduce((sum, file) => sum + file.bytes, 0);
    store.addCheckpoint({ step: request.step, folder: name, bytes, reward: request.reward, manifest: text });
  } catch (error) {
    await using.remove(temporary).catch(() => undefined);
    throw error;
  }
  await prune(parent, store, request.keep, using);
}

async function describe(folder: string, request: CheckpointRequest): Promise<Manifest> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const names = entries
    .filter((entry) => entry.isFile())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)).split(sep).join('/'))
    .sort();
  const list: Manifest['files'] = [];
  for (const name of names) {
    const path = join(folder, name);
    list.push({ name, bytes: (await stat(path)).size, sha256: await sha256(path) });
  }
  return { format: 1, step: request.step, belongsTo: request.belongsTo, files: list };
}

async function prune(parent: string, store: RunStore, keep: number, using: Files): Promise<void> {
  const all = store.checkpoints();
  const best = all.reduce<CommittedCheckpoint | null>(
    (found, next) => (next.reward !== null && next.reward >= (found?.reward ?? -Infinity) ? next : found),
    null,
  );
  for (const old of all.slice(0, -keep)) {
    if (old === best) continue;
    // the row first: a row without files would be offered for a resume
    store.markCheckpoint(old.step, 'pruned');
    await using.remove(join(parent, old.folder));
  }
}

/** At start: removes what an interrupted write left, and marks checkpoints whose files are not all there. */
export async function sweepCheckpoints(
  runFolder: string,
  store: RunStore,
  using: Files = files,
): Promise<void> {
  const parent = join(runFolder, CHECKPOINTS);
  const committed = store.checkpoints();
  const known = new Set(committed.map((checkpoint) => checkpoint.folder));
  for (const entry of await readdir(parent).catch(() => [] as string[])) {
    if (!known.has(entry)) await using.remove(join(parent, entry));
  }
  for (const checkpoint of committed) {
    if (!(await isWhole(join(parent, checkpoint.folder)))) store.markCheckpoint(checkpoint.step, 'broken');
  }
}

/**
 * That a committed checkpoint is still as it was written: its files' sizes, or their hashes too.
 * @throws AtelierError invalid_file
 */
export async function checkCheckpoint(folder: string, step: number, by: 'sizes' | 'hashes'): Promise<void> {
  if (await (by === 'sizes' ? isWhole(folder) : matches(folder))) return;
  throw new AtelierError(
    'invalid_file',
    `The checkpoint of step ${step} is damaged: its files are not as they were written.`,
    `Choose another checkpoint. Its folder is ${folder}.`,
  );
}

async function isWhole(folder: string): Promise<boolean> {
  try {
    const manifest = await readManifest(folder);
    for (const file of manifest.files) {
      if ((await stat(join(folder, file.name))).size !== file.bytes) return false;
    }
    return true;
  } catch {
    return false;
  }
}

export async function readManifest(folder: string): Promise<Manifest> {
  return Manifest.parse(JSON.parse(await readFile(join(folder, 'manifest.json'), 'utf8')));
}

/**
 * The newest committed checkpoint, its files checked against their hashes; damaged ones are marked and passed
 * over. `passed` are the steps of those.
 */
export async function latestCheckpoint(
  runFolder: string,
  store: RunStore,
): Promise<{ checkpoint: CommittedCheckpoint | null; folder: string; passed: number[] }> {
  const passed: number[] = [];
  for (const checkpoint of store.checkpoints().reverse()) {
    const folder = join(runFolder, CHECKPOINTS, checkpoint.folder);
    if (await matches(folder)) return { checkpoint, folder, passed };
    store.markCheckpoint(checkpoint.step, 'broken');
    passed.push(checkpoint.step);
  }
  return { checkpoint: null, folder: '', passed };
}

async function matches(folder: string): Promise<boolean> {
  if (!(await isWhole(folder))) return false;
  for (const file of (await readManifest(folder)).files) {
    if ((await sha256(join(folder, file.name))) !== file.sha256) return false;
  }
  return true;
}
