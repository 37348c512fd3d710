// `npm start`: the app in Electron where its binary can be had and a display exists, else the same app served on a
// loopback address for a browser.
import { join } from 'node:path';
import { hasDisplay, needElectron, sqliteForElectron } from './setup/electron.mjs';
import { runTask } from './setup/exec.mjs';
import { say, SetupError } from './setup/log.mjs';
import { root } from './setup/paths.mjs';

async function openInElectron(device, rest) {
  const program = hasDisplay() ? await needElectron() : null;
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
