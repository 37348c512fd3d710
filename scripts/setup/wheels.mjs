// Python wheels by pinned hash, from a lock file in native/: fetched by pip, unpacked once, never installed.
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { cache, root } from './paths.mjs';
import { run } from './exec.mjs';
import { say, SetupError, step } from './log.mjs';

/** @returns {{ name: string, version: string, line: string }[]} the requirements of a lock file's text */
export function parseLock(text) {
  return text
    .split('\n')
    .map((line) => line.replace(/#.*$/, '').trim())
    .filter(Boolean)
    .map((line) => {
      const match = /^([A-Za-z0-9._-]+)==(\S+)( --hash=sha256:[0-9a-f]{64})+$/.exec(line);
      if (!match)
        throw new SetupError(`A lock file's line is not "name==version --hash=sha256:...": ${line}`);
      return { name: match[1], version: match[2], line };
    });
}

/** Where a requirement's unpacked wheel lies; `platform` where it is not this machine's own. */
export function unpackedDir({ name, version }, platform) {
  return join(cache, 'unpacked', `${name}-${version}${platform ? `-${platform}` : ''}`);
}

/**
 * Fetches and unpacks one requirement unless that is done. A broken download or unpacking leaves nothing that
 * looks finished: the folder appears by one rename.
 * @returns {Promise<string>} the folder with the wheel's contents
 */
export async function unpackWheel(requirement, { platform, loud = false } = {}) {
  const { name, version, line } = requirement;
  const target = unpackedDir(requirement, platform);
  // A lock file's new hash for the same version must not find the old contents.
  const mark = join(target, '.requirement');
  if (existsSync(mark) && readFileSync(mark, 'utf8') === line) return target;
  return step(`fetching ${name} ${version}`, async () => {
    const wheels = join(cache, 'wheels', platform ?? 'native', name);
    mkdirSync(wheels, { recursive: true });
    const lock = join(wheels, 'requirement.txt');
    writeFileSync(lock, line + '\n');
    const args = ['-m', 'pip', 'download', '--no-deps', '--require-hashes', '--only-binary', ':all:'];
    if (platform) args.push('--platform', platform);
    if (!loud) args.push('--quiet', '--progress-bar', 'off');
    // pip takes a wheel that is there already when its hash is right, and fetches it again when it is not.
    await run('python3', [...args, '--dest', wheels, '--requirement', lock], { quiet: !loud });
    const wheel = readdirSync(wheels).find((file) => file.endsWith('.whl'));
    if (!wheel) throw new SetupError(`pip fetched no wheel of ${name} ${version} for this machine.`);
    mkdirSync(join(cache, 'unpacked'), { recursive: true });
    const partial = mkdtempSync(join(cache, 'unpacked', '.partial-'));
    await run('python3', ['-m', 'zipfile', '-e', join(wheels, wheel), partial], { quiet: true });
    writeFileSync(join(partial, '.requirement'), line);
    rmSync(target, { recursive: true, force: true });
    renameSync(partial, target);
    // The contents are what is used from now on: the archive would double the space.
    rmSync(wheels, { recursive: true, force: true });
    return target;
  });
}

export function readLock(file) {
  return parseLock(readFileSync(join(root, 'native', file), 'utf8'));
}

/** Removes what a killed unpacking left behind. */
export function dropPartialUnpackings() {
  const folder = join(cache, 'unpacked');
  if (!existsSync(folder)) return;
  for (const name of readdirSync(folder))
    if (name.startsWith('.partial-')) {
      say(`removing a half-unpacked wheel`);
      rmSync(join(folder, name), { recursive: true, force: true });
    }
}
