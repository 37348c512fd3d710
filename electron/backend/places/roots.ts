import { readdir, realpath, stat } from 'node:fs/promises';
import { basename, dirname, isAbsolute, join, sep } from 'node:path';
import type { z } from 'zod';
import type { BrowseEntry } from '../../../shared/contract/models';
import { AtelierError } from '../../../shared/rpc/errors';

type Entry = z.infer<typeof BrowseEntry>;

/**
 * Which paths a request may name. On the web host only what lies under the roots of `--models`; on the desktop
 * (`null`) what the user picked in the system's dialog, which is anything. Links are followed before the check.
 */
export class Roots {
  constructor(private readonly roots: readonly string[] | null) {}

  list(): string[] {
    return [...(this.roots ?? [])];
  }

  /** The real path of something that exists and may be used. */
  async resolve(path: string): Promise<string> {
    if (path.includes('\0') || !isAbsolute(path)) {
      throw new AtelierError('invalid_input', `"${shown(path)}" is not an absolute path.`, undefined, {
        path: 'path',
      });
    }
    // A separator of another system must not hide in a name.
    if (sep === '/' && path.includes('\\')) throw this.#outside(path);
    const real = await realpath(path).catch(() => null);
    if (real === null) {
      // Nothing is told of what lies outside.
      if (this.roots && !(await this.#allows(await nearest(path)))) throw this.#outside(path);
      throw new AtelierError('not_found', `There is nothing at ${shown(path)}.`, undefined, { path: 'path' });
    }
    if (!(await this.#allows(real))) throw this.#outside(path);
    return real;
  }

  /** A folder's entries: folders first, hidden ones left out. */
  async browse(path: string): Promise<{ path: string; parent: string | null; entries: Entry[] }> {
    if (path === '') return { path: '', parent: null, entries: await this.#rootEntries() };
    const real = await this.resolve(path);
    const names = await readdir(real).catch((error: unknown) => {
      throw new AtelierError('io', `${shown(path)} cannot be read: ${(error as Error).message}.`);
    });
    const visible = names.filter((name) => !name.startsWith('.')).slice(0, 2000);
    const found = await Promise.all(visible.map((name) => this.#entry(join(real, name))));
    const entries = found.filter((entry): entry is Entry => entry !== null);
    entries.sort(
      (a, b) => Number(a.kind === 'file') - Number(b.kind === 'file') || a.name.localeCompare(b.name),
    );
    const parent = dirname(real);
    const up =
      parent !== real && (await this.#allows(parent))
        ? parent
        : this.roots && this.roots.length > 1
          ? ''
          : null;
    return { path: real, parent: up, entries };
  }

  async #rootEntries(): Promise<Entry[]> {
    const found = await Promise.all((this.roots ?? []).map((root) => this.#entry(root)));
    return found.filter((entry): entry is Entry => entry !== null);
  }

  async #entry(path: string): Promise<Entry | null> {
    const real = await realpath(path).catch(() => null);
    if (real === null || !(await this.#allows(real))) return null;
    const found = await stat(real).catch(() => null);
    if (!found || (!found.isDirectory() && !found.isFile())) return null;
    const kind = found.isDirectory() ? 'folder' : 'file';
    const name = basename(path);
    return {
      name,
      path,
      kind,
      bytes: kind === 'file' ? found.size : null,
      looksLike: await looksLike(real, kind),
    };
  }

  async #allows(real: string): Promise<boolean> {
    if (this.roots === null) return true;
    for (const root of this.roots) {
      const base = await realpath(root).catch(() => null);
      if (base === null) continue;
      if (real === base || real.startsWith(base.endsWith(sep) ? base : base + sep)) return true;
    }
    return false;
  }

  #outside(path: string): AtelierError {
    const roots = this.list();
    return new AtelierError(
      'forbidden',
      `${shown(path)} is outside the folders that may be opened here.`,
      roots.length > 0
        ? `Allowed: ${roots.join(', ')}. Start with --models DIR to allow another.`
        : 'Start with --models DIR to allow a folder.',
      { path: 'path' },
    );
  }
}

async function looksLike(path: string, kind: Entry['kind']): Promise<Entry['looksLike']> {
  if (kind === 'file') {
    if (/\.gguf$/i.test(path)) return 'gguf';
    return isData(path) ? 'dataset' : null;
  }
  const names: string[] = await readdir(path).catch(() => []);
  if (names.includes('config.json') && names.some((name) => name.endsWith('.safetensors'))) return 'model';
  const saved = names.includes('dataset_dict.json') || names.includes('state.json');
  return saved || names.some(isData) ? 'dataset' : null;
}

/** Files of data by their endings; JSON files that describe something else are none. */
const isData = (name: string) =>
  /\.(jsonl|ndjson|json|csv|tsv|parquet|arrow|feather|ipc)(\.gz)?$/i.test(name) &&
  !/(config|tokenizer|index|vocab|info|infos|state|template|dict|package|lock)[^/\\]*\.json$/i.test(name);

/** The real path of the deepest part of a path that exists. */
async function nearest(path: string): Promise<string> {
  for (let at = path; ; at = dirname(at)) {
    const real = await realpath(at).catch(() => null);
    if (real !== null || dirname(at) === at) return real ?? at;
  }
}

const shown = (path: string) => (path.length > 300 ? `${path.slice(0, 300)}…` : path).replaceAll('\0', '\\0');
