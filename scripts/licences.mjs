// Collects the licences of what a package ships into build/licences, one file a part.
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { basename, join } from 'node:path';
import { SetupError } from './setup/log.mjs';
import { root } from './setup/paths.mjs';

const isLicence = (name) => /^(licen[cs]e|copying|notice)/i.test(name);

/** Folders of the npm packages that are no development dependency: bundled or shipped as they are. */
function shippedPackages() {
  const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'));
  return Object.entries(lock.packages)
    .filter(([path, entry]) => path !== '' && !entry.dev && !entry.devOptional)
    .map(([path]) => [
      path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length),
      join(root, path),
    ]);
}

/** Wheels and vendored headers that are linked into the engine. */
function engineParts() {
  const unpacked = join(root, '.cache', 'unpacked');
  const wheels = readdirSync(unpacked)
    .filter((name) => /^(mlx|scipy)/.test(name))
    .flatMap((name) =>
      readdirSync(join(unpacked, name))
        .filter((folder) => folder.endsWith('.dist-info'))
        .map((folder) => [name, join(unpacked, name, folder, 'licenses')]),
    );
  const vendored = join(root, 'native', 'third_party');
  return [...wheels, ...readdirSync(vendored).map((name) => [name, join(vendored, name)])];
}

export function collectLicences() {
  const out = join(root, 'build', 'licences');
  rmSync(out, { recursive: true, force: true });
  mkdirSync(out, { recursive: true });
  for (const [name, folder] of [...shippedPackages(), ...engineParts()]) {
    if (!existsSync(folder)) continue; // an optional package of another platform
    const files = readdirSync(folder).filter(isLicence);
    if (files.length === 0 && !existsSync(join(folder, 'package.json')))
      throw new SetupError(`${folder} holds no licence.`);
    for (const file of files)
      cpSync(join(folder, file), join(out, `${name.replace('/', '-')}-${basename(file)}`));
  }
  return out;
}
