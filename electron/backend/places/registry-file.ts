import { mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { z } from 'zod';
import { AtelierError } from '../../../shared/rpc/errors';
import { readJson, replaceFile } from '../store';

/** A list kept in one file of the data folder, replaced as a whole. Changes are made one after another. */
export class RegistryFile<T> {
  #last: Promise<unknown> = Promise.resolve();

  constructor(
    private readonly path: string,
    private readonly entry: z.ZodType<T>,
  ) {}

  async read(): Promise<T[]> {
    const schema = z.object({ format: z.literal(1), entries: z.array(this.entry) });
    let value: unknown;
    try {
      value = await readJson(this.path);
    } catch (error) {
      if ((error as { code?: string }).code === 'ENOENT') return [];
      throw this.#broken(error instanceof Error ? error.message : String(error));
    }
    const parsed = schema.safeParse(value);
    if (!parsed.success) throw this.#broken(z.prettifyError(parsed.error));
    return parsed.data.entries;
  }

  /** `change` is given the list and returns the new one. */
  update(change: (entries: T[]) => T[] | Promise<T[]>): Promise<T[]> {
    const result = this.#last.then(async () => {
      const entries = await change(await this.read());
      await mkdir(dirname(this.path), { recursive: true });
      await replaceFile(this.path, JSON.stringify({ format: 1, entries }, null, 2));
      return entries;
    });
    this.#last = result.catch(() => undefined);
    return result;
  }

  #broken(why: string): AtelierError {
    return new AtelierError(
      'invalid_file',
      `${this.path} cannot be read: ${why}.`,
      'Mend the file, or move it away to start with an empty list.',
    );
  }
}
