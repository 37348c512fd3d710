import { mkdir, readdir, readFile, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { ALGORITHMS } from '../../../shared/algorithms';
import { Id } from '../../../shared/contract/common';
import type { OwnAlgorithm } from '../../../shared/contract/algorithms';
import { AtelierError } from '../../../shared/rpc';
import { makeId } from '../places';
import { codeHash } from '../rewards';
import { readJson, replaceFile } from '../store';

const Label = z.object({ name: z.string() });

export type StoredAlgorithm = Omit<OwnAlgorithm, 'problems' | 'info'>;

/** The user's own algorithms: `algorithms/<key>.ts` in the data folder. */
export class AlgorithmStore {
  readonly #folder: string;

  constructor(home: string) {
    this.#folder = join(home, 'algorithms');
  }

  /** Newest first. */
  async list(): Promise<StoredAlgorithm[]> {
    const names = await readdir(this.#folder).catch(() => []);
    const keys = names.filter((name) => name.endsWith('.ts')).map((name) => name.slice(0, -3));
    const found = await Promise.all(
      keys.filter((key) => Id.safeParse(key).success).map((key) => this.#read(key)),
    );
    return found.sort((a, b) => b.updatedAt - a.updatedAt);
  }

  /** null: there is none of this key. */
  async find(key: string): Promise<StoredAlgorithm | null> {
    return (await this.list()).find((each) => each.key === key) ?? null;
  }

  async save({
    key,
    name,
    code,
  }: {
    key?: string | undefined;
    name: string;
    code: string;
  }): Promise<StoredAlgorithm> {
    const all = await this.list();
    if (key !== undefined && !all.some((each) => each.key === key))
      throw new AtelierError('not_found', `There is no algorithm of your own "${key}".`);
    const taken = new Set([...ALGORITHMS, ...all].map((each) => each.key));
    const kept = key ?? makeId(name, taken, 'algorithm');
    await mkdir(this.#folder, { recursive: true });
    // the code comes last: an algorithm exists once its code does
    await replaceFile(this.#path(kept, 'json'), JSON.stringify({ name }));
    await replaceFile(this.#path(kept, 'ts'), code);
    return this.#read(kept);
  }

  async remove(key: string): Promise<void> {
    if (!(await this.find(key)))
      throw new AtelierError('not_found', `There is no algorithm of your own "${key}".`);
    await rm(this.#path(key, 'ts'), { force: true });
    await rm(this.#path(key, 'json'), { force: true });
  }

  #path(key: string, ending: 'ts' | 'json'): string {
    return join(this.#folder, `${Id.parse(key)}.${ending}`);
  }

  async #read(key: string): Promise<StoredAlgorithm> {
    const path = this.#path(key, 'ts');
    const [code, { mtimeMs }] = await Promise.all([readFile(path, 'utf8'), stat(path)]);
    const label = Label.safeParse(await readJson(this.#path(key, 'json')).catch(() => null));
    return {
      key,
      name: label.success ? label.data.name : key,
      code,
      hash: codeHash(code),
      updatedAt: mtimeMs,
    };
  }
}
