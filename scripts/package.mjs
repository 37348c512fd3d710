// `npm run package`: packages of the desktop app in out/, from what this checkout has built.
import { join } from 'node:path';
import { collectLicences } from './licences.mjs';
import { electronFolder, needElectron, sqliteForElectron } from './setup/electron.mjs';
import { runTask } from './setup/exec.mjs';
import { SetupError } from './setup/log.mjs';
import { root } from './setup/paths.mjs';

/** @returns {Promise<number>} electron-builder's exit code */
export async function makePackage({ rest }) {
  if (!(await needElectron()))
    throw new SetupError(
      `There is nothing to package: Electron’s program is not in ${electronFolder()}.`,
      [
        'With a network and Node >= 22.12: node node_modules/electron/install.js',
        'Without: unpack the Electron release for this system, of the version that package.json names, and set',
        'ELECTRON_OVERRIDE_DIST_PATH to its folder.',
      ].join('\n'),
    );
  // Before electron-builder, which would compile it in node_modules, in the place of the one for Node.
  await sqliteForElectron();
  collectLicences();
  return runTask(process.execPath, [
    join(root, 'node_modules/electron-builder/cli.js'),
    `--config.electronDist=${electronFolder()}`,
    ...rest,
  ]);
}
