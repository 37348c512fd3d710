import { mkdir, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import type { FetchItem, HubListing } from '../../../shared/contract/datasets';
import { AtelierError } from '../../../shared/rpc/errors';
import { hubEndpoint, parquetFiles, type HubFile } from './hub-api';
import { download, requireRoom } from './hub-download';
import { parseReference } from './hub-reference';

export interface Fetched {
  /** Each lies in a folder of its own. */
  splits: { split: string; folder: string; partial: boolean }[];
  /** For people. */
  name: string;
  /** repo:config. */
  origin: string;
}

/** Data sets of the Hugging Face Hub, by the Parquet copy that the Hub itself makes of each. */
export class Hub {
  constructor(private readonly folder: string) {}

  async lookUp(reference: string, signal: AbortSignal): Promise<HubListing> {
    const { repo, config, split } = parseReference(reference);
    const { commit, files } = await parquetFiles(repo, signal);
    const names = config === null ? [...new Set(files.map((file) => file.config))] : [config];
    const configs = names.map((name) => {
      const own = select(files, repo, name, split);
      return {
        name,
        splits: [...new Set(own.map((file) => file.split))].map((each) => {
          const some = own.filter((file) => file.split === each);
          const bytes = some.reduce((sum, file) => sum + file.bytes, 0);
          return { name: each, files: some.length, bytes, partial: some.some(({ partial }) => partial) };
        }),
      };
    });
    return { repo, commit, configs, freeBytes: await this.#free() };
  }

  /** Fetches what a reference names. Cancelled, it goes on next time. */
  async *fetch(reference: string, signal: AbortSignal): AsyncGenerator<FetchItem, Fetched> {
    const { repo, config, split } = parseReference(reference);
    const { commit, files } = await parquetFiles(repo, signal);
    const chosen = config ?? onlyConfig(files, repo);
    const own = select(files, repo, chosen, split);
    const total = own.reduce((sum, { bytes }) => sum + bytes, 0);
    await mkdir(this.folder, { recursive: true });
    const folder = join(this.folder, repo.replace('/', '--'), commit.slice(0, 12), chosen);
    await mkdir(folder, { recursive: true });
    await requireRoom(folder, total);
    let before = 0;
    for (const file of own) {
      const target = join(folder, file.split, file.path.slice(file.path.lastIndexOf('/') + 1));
      const url = `${hubEndpoint()}/datasets/${repo}/resolve/${commit}/${file.path.split('/').map(encodeURIComponent).join('/')}`;
      for await (const done of download(
        { url, target, bytes: file.bytes, sha256: file.sha256, repo },
        signal,
      )) {
        yield { kind: 'progress', done: before + done, total };
      }
      before += file.bytes;
    }
    const name = `${repo.split('/').at(-1)!}${chosen === 'default' ? '' : ` ${chosen}`}`;
    const splits = [...new Set(own.map((file) => file.split))];
    return {
      splits: splits.map((each) => ({
        split: each,
        folder: join(folder, each),
        partial: own.some((file) => file.split === each && file.partial),
      })),
      name,
      origin: `${repo}:${chosen}`,
    };
  }

  async #free(): Promise<number> {
    await mkdir(this.folder, { recursive: true });
    const { bavail, bsize } = await statfs(this.folder);
    return bavail * bsize;
  }
}

/** The config that is meant where none is named. */
function onlyConfig(files: readonly HubFile[], repo: string): string {
  const names = [...new Set(files.map(({ config }) => config))];
  const [only] = names.length === 1 ? names : ['default', 'main'].filter((name) => names.includes(name));
  if (only !== undefined) return only;
  throw new AtelierError(
    'invalid_input',
    `"${repo}" has several configs: ${names.slice(0, 40).join(', ')}.`,
    `Name one: ${repo}:${names[0]}.`,
    { path: 'reference', configs: names },
  );
}

function select(files: readonly HubFile[], repo: string, config: string, split: string | null): HubFile[] {
  const own = files.filter((file) => file.config === config);
  const missing = (what: string, name: string, names: readonly string[]) =>
    new AtelierError(
      'not_found',
      `"${repo}" has no ${what} "${name}".`,
      `There are: ${[...new Set(names)].slice(0, 40).join(', ')}.`,
      { path: 'reference' },
    );
  if (own.length === 0) {
    throw missing(
      'config',
      config,
      files.map((file) => file.config),
    );
  }
  const some = split === null ? own : own.filter((file) => file.split === split);
  if (some.length === 0) {
    throw missing(
      'split',
      split!,
      own.map((file) => file.split),
    );
  }
  return some;
}
