import { lstat, mkdir, readdir, stat } from 'node:fs/promises';
import { basename, dirname, extname, isAbsolute, join, resolve } from 'node:path';
import { AtelierError } from '../../../shared/rpc';
import type { Roots } from '../places';
import { isDiskFull } from '../store';
import type { RunEntry } from './run-entry';

/** What the file system refuses, said of what was asked for. */
export async function writable<T>(target: string, write: () => Promise<T>): Promise<T> {
  try {
    return await write();
  } catch (error) {
    if (isDiskFull(error)) {
      const text = (error as Error).message;
      throw new AtelierError('disk_full', `The disk of ${target} is full: ${text}.`, 'Free some space.');
    }
    if ((error as NodeJS.ErrnoException).syscall === undefined) throw error;
    throw new AtelierError(
      'io',
      `${target} cannot be written: ${(error as Error).message}.`,
      'Choose another place.',
      { path: 'path' },
    );
  }
}

/** A name that is not taken yet; a chosen one must lie where its host allows it. `wanted`: as it is called among the run's own exports. */
export async function targetOf(
  entry: RunEntry,
  wanted: string,
  path: string | undefined,
  roots: Pick<Roots, 'resolve'>,
): Promise<string> {
  if (path === undefined) {
    const parent = join(entry.folder, 'exports');
    await writable(parent, () => mkdir(parent, { recursive: true }));
    const taken = new Set(await readdir(parent));
    const ending = extname(wanted);
    const stem = basename(wanted, ending);
    for (let n = 1; ; n++) {
      const name = n === 1 ? wanted : `${stem}-${n}${ending}`;
      if (!taken.has(name)) return join(parent, name);
    }
  }
  if (!isAbsolute(path))
    throw new AtelierError('invalid_input', 'What is exported to must be a full path.', undefined, {
      path: 'path',
    });
  const chosen = resolve(path);
  // a separator of another system must not hide in a name
  if (/[\\\0]/.test(basename(chosen))) {
    throw new AtelierError('invalid_input', 'The name of an export may not contain a backslash.', undefined, {
      path: 'path',
    });
  }
  const parent = await roots.resolve(dirname(chosen));
  if (!(await stat(parent)).isDirectory()) {
    throw new AtelierError('invalid_input', `${parent} is not a folder.`, 'Choose a place inside a folder.', {
      path: 'path',
    });
  }
  const target = join(parent, basename(chosen));
  await refuseTaken(target);
  return target;
}

/** A link that leads nowhere takes its name as well. */
export async function refuseTaken(target: string): Promise<void> {
  const there = await lstat(target).catch(() => null);
  if (!there) return;
  const kind = there.isSymbolicLink() ? 'a link' : there.isDirectory() ? 'a folder' : 'a file';
  throw new AtelierError(
    'conflict',
    `${target} exists already: it is ${kind}.`,
    'Choose another name: an export never replaces anything.',
    { path: 'path' },
  );
}
