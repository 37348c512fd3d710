// The web host's backend process: serves the page and answers it. Started and restarted by web-host.ts.
import { startBackend, type Backend } from '../backend/entry';
import { Access, forgetPort, notePort, startWebServer, type WebServer } from '../backend/transport';
import { AtelierError } from '../../shared/rpc';
import { nodeSpawn } from '../supervise/node-spawn';
import { pageFolder } from './page-folder';
import type { FromChild, StartMessage, ToChild } from './web-messages';

const send = (message: FromChild) => void (process.connected && process.send!(message));
let access: Access | null = null;
let web: WebServer | null = null;
let backend: Backend | null = null;
/** Of the folder whose port was noted. */
let home: string | null = null;

async function start({ options, port, codes, restarted }: StartMessage): Promise<void> {
  access = new Access(options.home, () => send({ type: 'code-used' }));
  for (const code of codes) access.allowCode(code);
  let ready!: (backend: Backend) => void;
  const working = new Promise<Backend>((resolve) => (ready = resolve));
  web = await startWebServer({
    port,
    access,
    pages: pageFolder(),
    // a page that comes before the backend is ready waits for it
    onPort: (page) => void working.then((there) => there.accept(page)),
  });
  backend = await startBackend({
    ...options,
    host: 'web',
    pages: pageFolder(),
    spawn: nodeSpawn,
    restarted,
    onWorking: (run) => send({ type: 'working', run }),
  });
  ready(backend);
  notePort(options.home, web.port);
  home = options.home;
  send({ type: 'ready', port: web.port });
}

async function stop(code: number): Promise<never> {
  if (home !== null) forgetPort(home);
  await web?.close().catch(() => undefined);
  await backend?.close().catch(() => undefined);
  process.exit(code);
}

process.on('message', (message: ToChild) => {
  if (message.type === 'code') access?.allowCode(message.code);
  else {
    start(message).catch((error: unknown) => {
      const { message: text, hint, stack } = error as Error & { hint?: string };
      send({
        type: 'fatal',
        message: error instanceof AtelierError ? text : (stack ?? text),
        ...(hint ? { hint } : {}),
      });
      void stop(1);
    });
  }
});
process.on('SIGTERM', () => void stop(0));
// Ctrl-C reaches the whole group: the host decides
process.on('SIGINT', () => undefined);
// the host is gone: nobody would restart or end this process
process.on('disconnect', () => void stop(0));
