// `npm start`: the app in Electron where its binary can be had and a display exists, else the same app served on a
// loopback address for a browser.
import { cpSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { run, runTask } from './setup/exec.mjs';
import { say, SetupError, step } from './setup/log.mjs';
import { root } from './setup/paths.mjs';
import { atLeast, versionIn } from './setup/prerequisites.mjs';

const electronDir = join(root, 'node_modules', 'electron');

/** The Electron program, fetched by its own installer when it is not there yet; null where it cannot be had. */
async function electronProgram() {
  const override = process.env.ELECTRON_OVERRIDE_DIST_PATH;
  const pathFile = join(electronDir, 'path.txt');
  const program = () => {
    const name = existsSync(pathFile) ? readFileSync(pathFile, 'utf8') : 'electron';
    const path = join(override ?? join(electronDir, 'dist'), name);
    return existsSync(path) ? path : null;
  };
  if (program() || override) return program();
  if (!atLeast(versionIn(process.versions.node), [22, 12])) {
    say(`Electron’s installer wants Node >= 22.12; this is ${process.versions.node}`);
    return null;
  }
  await step('fetching Electron (about 120 MB)', () =>
    run(process.execPath, [join(electronDir, 'install.js')], { quiet: true }),
  ).catch((error) => say(error.message));
  return program();
}

/** SQLite's addon compiled against Electron's headers, beside the one for Node. @returns its path */
async function sqliteForElectron() {
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
    await run(process.execPath, [gyp, 'rebuild', '--release', ...where], { quiet: true });
    rmSync(target, { recursive: true, force: true });
    renameSync(partial, target);
  });
  return addon;
}

const hasDisplay = () =>
  process.platform === 'darwin' || Boolean(process.env.DISPLAY) || Boolean(process.env.WAYLAND_DISPLAY);

async function openInElectron(device, rest) {
  const program = hasDisplay() ? await electronProgram() : null;
  if (!hasDisplay()) say('no display here (neither DISPLAY nor WAYLAND_DISPLAY is set)');
  else if (!program) say('Electron’s program is not here and could not be fetched');
  if (!program) return null;
  const binding = await sqliteForElectron().catch((error) => {
    say(error instanceof SetupError ? error.message : String(error));
    return null;
  });
  if (!binding) return null;
  return runTask(program, [root, ...rest], { ATELIER_DEVICE: device, ATELIER_SQLITE_BINDING: binding });
}

/** @returns {Promise<number>} the exit code of the app */
export async function start({ device, rest }) {
  const code = await openInElectron(device, rest);
  if (code !== null) return code;
  say('serving the app for a browser instead');
  const cli = join(root, 'dist', 'headless', 'cli.js');
  return runTask(process.execPath, [cli, 'serve', ...rest], { ATELIER_DEVICE: device });
}
