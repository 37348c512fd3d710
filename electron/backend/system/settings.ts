import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { z } from 'zod';
import { Settings } from '../../../shared/contract/system';
import { replaceFile } from '../store';

type Values = z.output<typeof Settings>;

/** settings.json of the data folder. A file that cannot be read is said so and left alone; defaults hold. */
export class SettingsFile {
  #values: Values = Settings.parse({});
  problem: string | null = null;

  private constructor(private readonly file: string) {}

  static async open(home: string): Promise<SettingsFile> {
    const settings = new SettingsFile(join(home, 'settings.json'));
    try {
      settings.#values = Settings.parse(JSON.parse(await readFile(settings.file, 'utf8')));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') {
        settings.problem = `${settings.file} cannot be read: ${(error as Error).message}`;
      }
    }
    return settings;
  }

  get values(): Values {
    return this.#values;
  }

  async save(values: Values): Promise<void> {
    await replaceFile(this.file, JSON.stringify(values, null, 2));
    this.#values = values;
    this.problem = null;
  }
}
