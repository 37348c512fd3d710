import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';

const cli = join(import.meta.dirname, '../../dist/headless/cli.js');

export interface App {
  /** Data folder: runs, exports, settings. */
  home: string;
  /** With an unused one-time code. */
  address: string;
  pid: number;
  /** Another address with an unused code, as `atelier address` prints it. */
  nextAddress: () => Promise<string>;
  stop: () => Promise<void>;
}

/** The product as a user starts it: `atelier serve` with the real engine and an empty data folder; `rest` is said after it. */
export async function startApp(...rest: string[]): Promise<App> {
  const home = await mkdtemp(join(tmpdir(), 'atelier-e2e-'));
  const command = [cli, 'serve', '--port', '0', ...rest];
  const child = spawn(process.execPath, command, {
    env: { ...process.env, ATELIER_HOME: home },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const address = await firstAddress(child);
  return {
    home,
    address,
    pid: child.pid!,
    nextAddress: async () =>
      (await promisify(execFile)(process.execPath, [cli, 'address', '--home', home])).stdout.trim(),
    async stop() {
      const ended = new Promise((resolve) => child.once('exit', resolve));
      child.kill('SIGTERM');
      await ended;
      await rm(home, { recursive: true, force: true });
    },
  };
}

function firstAddress(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    child.once('exit', (code) =>
      reject(new Error(`atelier serve ended with ${code} before it gave an address`)),
    );
    createInterface({ input: child.stdout! }).on('line', (line) => {
      const found = /http:\/\/\S+/.exec(line);
      if (found !== null) resolve(found[0]);
    });
  });
}
