import { MessageChannel } from 'node:worker_threads';
import type { Device } from '../../native/face';
import { contract, type AtelierContract } from '../../shared/contract';
import { createClient, domPort, type Client } from '../../shared/rpc';
import { startBackend } from '../backend/entry';
import { Access, forgetPort, makeSecret, notePort, startWebServer } from '../backend/transport';
import type { HostSpawn } from '../supervise/host-spawn';
import { nodeSpawn } from '../supervise/node-spawn';
import { pageFolder } from './page-folder';

export interface LocalOptions {
  home: string;
  device: Device;
  /** Numbers of the devices that work together; absent: as the settings say. */
  devices?: readonly number[] | undefined;
  spawn?: HostSpawn;
  /** Serve the page too, on this port (0: any): the run can be watched in a browser. */
  port?: number;
}

export interface Local {
  client: Client<AtelierContract>;
  /** Address of the page with a one-time code; null where none is served. */
  address: string | null;
  close(): Promise<void>;
}

/** A backend in this process, asked as a page asks it: for the commands that end by themselves. */
export async function openLocal({
  home,
  device,
  devices,
  port,
  spawn = nodeSpawn,
}: LocalOptions): Promise<Local> {
  const backend = await startBackend({
    home,
    device,
    devices,
    host: 'cli',
    pages: null,
    roots: null,
    spawn,
    restarted: false,
  });
  try {
    const web = port === undefined ? null : await serve(home, port, (page) => backend.accept(page));
    const { port1, port2 } = new MessageChannel();
    backend.accept(domPort(port1 as never));
    const near = domPort(port2 as never);
    return {
      client: createClient(contract, near),
      address: web?.address ?? null,
      async close() {
        near.close();
        await web?.close();
        await backend.close();
      },
    };
  } catch (error) {
    await backend.close();
    throw error;
  }
}

/** What asks a command to end, and the exit code that a shell expects then. */
const ENDINGS = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const;
const BROKEN_PIPE = 141;

/**
 * A command's work, and the end of its backend. Ctrl-C, SIGTERM, a hang-up and a reader of the output that went away
 * end the work so that a run can be resumed, and the process after `last` is printed; a second Ctrl-C ends it at once.
 */
export async function work<T>(
  local: Local,
  body: () => Promise<T>,
  last: () => string = () => '',
): Promise<T> {
  let closing: Promise<never> | null = null;
  const end = (exit: number) => {
    closing ??= local.close().then(() => {
      process.stderr.write(last());
      process.exit(exit);
    });
  };
  const signals = Object.entries(ENDINGS).map(([name, exit]) => [name, () => end(exit)] as const);
  for (const [name, listener] of signals) process.once(name, listener);
  const unread = (error: NodeJS.ErrnoException) => {
    // EIO: its terminal is gone
    if (error.code !== 'EPIPE' && error.code !== 'EIO') throw error;
    end(BROKEN_PIPE);
  };
  process.stdout.on('error', unread);
  // the terminal that hung up takes no last words
  process.stderr.on('error', () => undefined);
  try {
    return await body();
  } catch (error) {
    // what the body waited for went with the backend
    if (closing) return await (closing as Promise<never>);
    throw error;
  } finally {
    for (const [name, listener] of signals) process.removeListener(name, listener);
    await (closing ?? local.close());
  }
}

async function serve(home: string, wanted: number, onPort: Parameters<typeof startWebServer>[0]['onPort']) {
  const access = new Access(home);
  const code = makeSecret();
  access.allowCode(code);
  const { port, close } = await startWebServer({ port: wanted, access, pages: pageFolder(), onPort });
  notePort(home, port);
  return {
    address: `http://127.0.0.1:${port}/#code=${code}`,
    close() {
      forgetPort(home);
      return close();
    },
  };
}
