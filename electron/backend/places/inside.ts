import { realpath } from 'node:fs/promises';
import { basename, dirname, join, sep } from 'node:path';
import { AtelierError } from '../../../shared/rpc/errors';

const windowsNames = /^(con|prn|aux|nul|com\d|lpt\d)(\.|$)/i;

/**
 * The real path of a file that another file names (weight_map and the like). The name may not lead out of the
 * folder, on any system; the one link that may is that of the Hugging Face cache: a snapshot's entry into the
 * same repository's blobs.
 */
export async function fileInside(folder: string, name: string): Promise<string> {
  const parts = name.split('/');
  const bad =
    name === '' ||
    /[\\:\0]/.test(name) ||
    parts.some(
      (part) => part === '' || part === '.' || part === '..' || /[. ]$/.test(part) || windowsNames.test(part),
    );
  if (bad) throw outside(name);
  const root = await realpath(folder);
  const real = await realpath(join(root, name)).catch(() => null);
  if (real === null) throw new AtelierError('invalid_file', `${basename(folder)} has no file "${name}".`);
  if (real.startsWith(root + sep)) return real;
  const snapshots = dirname(root);
  const blobs = join(dirname(snapshots), 'blobs');
  if (basename(snapshots) === 'snapshots' && dirname(real) === blobs) return real;
  throw outside(name);
}

function outside(name: string): AtelierError {
  return new AtelierError('invalid_file', `The file name "${name.slice(0, 200)}" leads out of its folder.`);
}
