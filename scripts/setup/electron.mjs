// Electron for a checkout: its program, which its own installer fetches, and SQLite's addon compiled for it.
import { cpSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { run } from './exec.mjs';
import { say, SetupError, step } from './log.mjs';
import { root } from './paths.mjs';
import { atLeast, versionIn } from './prerequisites.mjs';

/** @returns {boolean} whether a window can be opened here */
export const hasDisplay = () =>
  process.platform === 'darwin' || Boolean(process.env.DISPLAY) || Boolean(process.env.WAYLAND_DISPLAY);

const packageFolder = join(root, 'node_modules', 'electron');

/** Folder of Electron's program and its libraries: the installer's, or one that was unpacked by hand. */
export const electronFolder = (folder = packageFolder) =>
  process.env.ELECTRON_OVERRIDE_DIST_PATH ?? join(folder, 'dist');

/** The Electron program that is there; fetches nothing. @returns {string | null} */
export function findElectron(folder = packageFolder) {
  const pathFile = join(folder, 'path.txt');
  const name = existsSync(pathFile) ? readFileSync(pathFile, 'utf8') : 'electron';
  const program = join(electronFolder(folder), name);
  return existsSync(program) ? program : null;
}

/** The Electron program, fetched by its own installer when it is not there yet; null where it cannot be had. */
export async function needElectron() {
  const found = findElectron();
  if (found || process.env.ELECTRON_OVERRIDE_DIST_PATH) return found;
  if (!atLeast(versionIn(process.versions.node), [22, 12])) {
    say(`Electron’s installer wants Node >= 22.12; this is ${process.versions.node}`);
    return null;
  }
  await step('fetching Electron (about 120 MB)', () =>
    run(process.execPath, [join(packageFolder, 'install.js')], { quiet: true }),
  ).catch((error) => say(error.message));
  return findElectron();
}

/** SQLite's addon compiled against Electron's headers, beside the one for Node. @returns its path */
export async function sqliteForElectron() {
  const { version } = createRequire(join(root, 'package.json'))('electron/package.json');
  const target = join(root, 'build', 'electron', version);
  const addon = join(target, 'build', 'Release', 'better_sqlite3.node');
  if (existsSync(addon)) return addon;
  await step('compiling SQLite for Electron (about 2 minutes)', async () => {
    const partial = `${target}.partial`;
    rmSync(partial, { recursive: true, force: true });
    mkdirSync(partial, { recursive: true });
    cpSync(join(root, 'node_modules', 'better-sqlite3'), partial, { recursive: true });
    const gyp = join(root, 'node_modules', 'node-gyp', 'bin', 'node-gyp.js');
    const where = [
      `--target=${version}`,
      '--dist-url=https://electronjs.org/headers',
      `--directory=${partial}`,
    ];
    await run(process.execPath, [gyp, 'rebuild', '--release', ...where], { quiet: true }).catch(() => {
      throw new SetupError(
        `SQLite could not be compiled for Electron ${version}; the reason stands above.`,
        'It needs a C++ compiler, and a network the first time: the headers come from electronjs.org.',
      );
    });
    rmSync(target, { recursive: true, force: true });
    renameSync(partial, target);
  });
  return addon;
}
