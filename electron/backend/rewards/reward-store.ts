import { mkdir, readdir, readFile, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { Id } from '../../../shared/contract/common';
import { REWARD_ENDINGS, RewardLanguage, type Reward } from '../../../shared/contract/rewards';
import { AtelierError } from '../../../shared/rpc/errors';
import { makeId } from '../places';
import { readJson, replaceFile } from '../store';
import { codeHash } from './code';
import { headComment } from './head-comment';

const LANGUAGES = RewardLanguage.options;
const Label = z.object({ name: z.string() });

/** A reward without what its code would have to run for. */
export type StoredReward = Omit<Reward, 'params'>;

/** Rewards: those that come with the app, and the user's as `rewards/<id>.ts` (.py, .md) in the data folder. */
export class RewardStore {
  readonly #folder: string;

  constructor(
    home: string,
    /** Folder of the app's own rewards. */
    private readonly bundled: string,
  ) {
    this.#folder = join(home, 'rewards');
  }

  async list(): Promise<StoredReward[]> {
    const [own, shipped] = await Promise.all([
      this.#read(this.#folder, 'user'),
      this.#read(this.bundled, 'bundled'),
    ]);
    own.sort((a, b) => b.updatedAt - a.updatedAt);
    return [...own, ...shipped];
  }

  async get(id: string): Promise<StoredReward> {
    const found = (await this.list()).find((reward) => reward.id === id);
    if (found) return found;
    throw new AtelierError('not_found', `There is no reward "${id}".`);
  }

  /** Makes or replaces a user's reward; a bundled one is copied under a new id. */
  async save({
    id,
    name,
    language,
    code,
  }: {
    id?: string | undefined;
    name: string;
    language: RewardLanguage;
    code: string;
  }): Promise<StoredReward> {
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
    await replaceFile(this.#path(kept, REWARD_ENDINGS[language]), code);
    if (existing?.source === 'user' && existing.language !== language) {
      await rm(this.#path(kept, REWARD_ENDINGS[existing.language]), { force: true });
    }
    return this.get(kept);
  }

  async remove(id: string): Promise<void> {
    const reward = await this.get(id);
    if (reward.source === 'bundled') {
      throw new AtelierError('forbidden', `"${reward.name}" comes with the app and cannot be removed.`);
    }
    await rm(this.#path(id, REWARD_ENDINGS[reward.language]), { force: true });
    await rm(this.#path(id, 'json'), { force: true });
  }

  #path(id: string, ending: string): string {
    return join(this.#folder, `${Id.parse(id)}.${ending}`);
  }

  async #read(folder: string, source: Reward['source']): Promise<StoredReward[]> {
    const names = await readdir(folder).catch(() => []);
    const files = names.flatMap((name) => {
      const language = LANGUAGES.find((one) => name.endsWith(`.${REWARD_ENDINGS[one]}`));
      const id = name.replace(/\.[a-z]+$/, '');
      return language && Id.safeParse(id).success ? [{ id, name, language }] : [];
    });
    const found = await Promise.all(
      files
        .sort((a, b) => (a.id < b.id ? -1 : 1))
        .map(async ({ id, name, language }) => {
          const path = join(folder, name);
          const [code, { mtimeMs }] = await Promise.all([readFile(path, 'utf8'), stat(path)]);
          const label = Label.safeParse(await readJson(join(folder, `${id}.json`)).catch(() => null));
          return made(id, label.success ? label.data.name : null, language, code, source, mtimeMs);
        }),
    );
    return found;
  }
}

function made(
  id: string,
  label: string | null,
  language: RewardLanguage,
  code: string,
  source: Reward['source'],
  updatedAt: number,
): StoredReward {
  const { name, description } = headComment(code);
  return {
    id,
    name: (source === 'user' ? label : name) ?? name ?? label ?? id,
    source,
    language,
    code,
    hash: codeHash(code),
    ...(description === undefined ? {} : { description }),
    updatedAt,
  };
}
