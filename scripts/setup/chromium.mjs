// The browser that the end-to-end tests drive.
import { existsSync } from 'node:fs';
import { outputOf, run } from './exec.mjs';
import { SetupError, step } from './log.mjs';

const places = [
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  '/Applications/Chromium.app/Contents/MacOS/Chromium',
];
const names = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable', 'chrome'];

/** Path of a Chromium or Chrome: $CHROME_PATH, or the first that is found; null where there is none. */
export function findChromium() {
  const given = process.env.CHROME_PATH;
  if (given) {
    if (!existsSync(given)) throw new SetupError(`CHROME_PATH is ${given}, and no file is there.`);
    return given;
  }
  for (const name of names) {
    const path = outputOf('sh', ['-c', `command -v ${name}`]);
    if (path) return path;
  }
  return places.find(existsSync) ?? null;
}

const way =
  process.platform === 'darwin' ? 'brew install --cask google-chrome' : 'sudo apt-get install -y chromium';

/** Under CI it is installed by the system's packages; elsewhere the command that installs it is printed. */
export async function needChromium() {
  const found = findChromium();
  if (found) return found;
  if (process.env.CI && process.platform === 'linux') {
    await step('installing Chromium', async () => {
      await run('apt-get', ['update', '-qq'], { quiet: true });
      await run('apt-get', ['install', '-y', '-qq', '--no-install-recommends', 'chromium'], {
        quiet: true,
        env: { DEBIAN_FRONTEND: 'noninteractive' },
      });
    });
    const installed = findChromium();
    if (installed) return installed;
  }
  throw new SetupError(
    'The end-to-end tests need Chromium or Chrome, and none is found.',
    `${way}\nor set CHROME_PATH.`,
  );
}
