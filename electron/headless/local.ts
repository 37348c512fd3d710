import { MessageChannel } from 'node:worker_threads';
import type { Device } from '../../native/face';
import { contract, type AtelierContract } from '../../shared/contract';
import { createClient, domPort, type Client } from '../../shared/rpc';
import { startBackend } from '../backend/entry';
import { Access, makeSecret, startWebServer } from '../backend/transport';
import { nodeSpawn } from '../supervise/node-spawn';
import { pageFolder } from './page-folder';

export interface LocalOptions {
  home: string;
  device: Device;
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
export async function openLocal({ home, device, port }: LocalOptions): Promise<Local> {
  const backend = await startBackend({
    home,
    device,
    host: 'cli',
    pages: null,
    roots: null,
    spawn: nodeSpawn,
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

/**
 * A command's work, and the end of its backend. Ctrl-C ends the work so that a run can be resumed, and the process
 * with 130 after `last` is printed; a second one ends it at once.
 */
export async function work<T>(
  local: Local,
  body: () => Promise<T>,
  last: () => string = () => '',
): Promise<T> {
  let closing: Promise<never> | null = null;
  const interrupted = () => {
    closing = local.close().then(() => {
      process.stderr.write(last());
      process.exit(130);
    });
  };
  process.once('SIGINT', interrupted);
  try {
    return await body();
  } catch (error) {
    // what the body waited for went with the backend
    if (closing) return await (closing as Promise<never>);
    throw error;
  } finally {
    process.removeListener('SIGINT', interrupted);
    await (closing ?? local.close());
  }
}

async function serve(home: string, wanted: number, onPort: Parameters<typeof startWebServer>[0]['onPort']) {
  const access = new Access(home);
  const code = makeSecret();
  access.allowCode(code);
  const { port, close } = await startWebServer({ port: wanted, access, pages: pageFolder(), onPort });
  return { address: `http://127.0.0.1:${port}/#code=${code}`, close };
}
