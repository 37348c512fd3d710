import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { algorithmByKey } from '../../../shared/algorithms';
import { AtelierError } from '../../../shared/rpc';

/** Source of an algorithm of the app: the file that is named after its key. `root`: the app's folder. */
export async function builtinSource(root: string, key: string): Promise<string> {
  if (!algorithmByKey(key)) throw new AtelierError('not_found', `There is no algorithm "${key}".`);
  const path = join(root, 'shared', 'algorithms', `${key.replaceAll('_', '-')}.ts`);
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    throw new AtelierError('io', `The source ${path} cannot be read: ${(error as Error).message}.`);
  }
}
