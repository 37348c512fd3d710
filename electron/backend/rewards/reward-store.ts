import { mkdir, readdir, readFile, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { Id } from '../../../shared/contract/common';
import type { Reward } from '../../../shared/contract/rewards';
import { AtelierError } from '../../../shared/rpc/errors';
import { makeId } from '../places';
import { readJson, replaceFile } from '../store';
import { codeHash } from './code';
import { headComment } from './head-comment';
import { templates } from './templates';

const Label = z.object({ name: z.string() });

/** Rewards: those that come with the app, and the user's as `rewards/<id>.ts` in the data folder. */
export class RewardStore {
  readonly #folder: string;

  constructor(
    home: string,
    /** Folder of the app's own rewards. */
    private readonly bundled: string,
  ) {
    this.#folder = join(home, 'rewards');
  }

  async list(): Promise<Reward[]> {
    const [own, shipped] = await Promise.all([
      this.#read(this.#folder, 'user'),
      this.#read(this.bundled, 'bundled'),
    ]);
    own.sort((a, b) => b.updatedAt - a.updatedAt);
    return [...own, ...shipped, ...templates.map(({ id, code }) => made(id, id, code, 'bundled', 0))];
  }

  async get(id: string): Promise<Reward> {
    const found = (await this.list()).find((reward) => reward.id === id);
    if (found) return found;
    throw new AtelierError('not_found', `There is no reward "${id}".`);
  }

  /** Makes or replaces a user's reward; a bundled one is copied under a new id. */
  async save({ id, name, code }: { id?: string | undefined; name: string; code: string }): Promise<Reward> {
    const all = await this.list();
    const existing = all.find((reward) => reward.id === id);
    if (id !== undefined && !existing) throw new AtelierError('not_found', `There is no reward "${id}".`);
    const kept =
      existing?.source === 'user'
        ? existing.id
        : makeId(name, new Set(all.map((reward) => reward.id)), 'reward');
    await mkdir(this.#folder, { recursive: true });
    // The code comes last: a reward exists once its code does.
    await replaceFile(this.#path(kept, 'json'), JSON.stringify({ name }));
    await replaceFile(this.#path(kept, 'ts'), code);
    return this.get(kept);
  }

  async remove(id: string): Promise<void> {
    const reward = await this.get(id);
    if (reward.source === 'bundled') {
      throw new AtelierError('forbidden', `"${reward.name}" comes with the app and cannot be removed.`);
    }
    await rm(this.#path(id, 'ts'), { force: true });
    await rm(this.#path(id, 'json'), { force: true });
  }

  #path(id: string, ending: 'ts' | 'json'): string {
    return join(this.#folder, `${Id.parse(id)}.${ending}`);
  }

  async #read(folder: string, source: Reward['source']): Promise<Reward[]> {
    const names = await readdir(folder).catch(() => []);
    const ids = names.filter((name) => name.endsWith('.ts')).map((name) => name.slice(0, -3));
    const found = await Promise.all(
      ids
        .filter((id) => Id.safeParse(id).success)
        .sort()
        .map(async (id) => {
          const path = join(folder, `${id}.ts`);
          const [code, { mtimeMs }] = await Promise.all([readFile(path, 'utf8'), stat(path)]);
          const label = Label.safeParse(await readJson(join(folder, `${id}.json`)).catch(() => null));
          return made(id, label.success ? label.data.name : null, code, source, mtimeMs);
        }),
    );
    return found;
  }
}

function made(
  id: string,
  label: string | null,
  code: string,
  source: Reward['source'],
  updatedAt: number,
): Reward {
  const { name, description } = headComment(code);
  return {
    id,
    name: (source === 'user' ? label : name) ?? name ?? label ?? id,
    source,
    language: 'typescript',
    code,
    hash: codeHash(code),
    ...(description === undefined ? {} : { description }),
    updatedAt,
  };
}
