import {
  createServer,
  STATUS_CODES,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { AtelierError, type Port } from '../../../shared/rpc';
import type { Access } from './access';
import { limitConnections } from './connections';
import { gate, type Refusal } from './gate';
import { BodyError, readJsonBody } from './json-body';
import { PageFiles, securityHeaders } from '../../page';
import { answerPage } from './page-files';
import { Sockets } from './sockets';

export interface WebServerOptions {
  /** 0: any free one. */
  port: number;
  access: Access;
  /** Folder of the built page. */
  pages: string;
  /** An authenticated page. */
  onPort: (port: Port) => void;
}

export interface WebServer {
  port: number;
  close(): Promise<void>;
}

/**
 * The page and its socket, on 127.0.0.1 and, where it exists, ::1, behind the gate.
 * @throws AtelierError conflict when the port is taken.
 */
export async function startWebServer(options: WebServerOptions): Promise<WebServer> {
  const { access } = options;
  const pages = new PageFiles(options.pages);
  const sockets = new Sockets((value) => access.isToken(value), options.onPort);
  const rules = { port: options.port, hasToken: (request: IncomingMessage) => access.hasToken(request) };

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const api = isApi(request);
    const refused = gate(request, api ? 'api' : 'page', rules);
    if (refused) return refuse(response, refused.status, refused.message);
    if (!api) return answerPage(pages, request, response);
    if (pathOf(request) !== '/api/session' || request.method !== 'POST')
      return refuse(response, 404, 'Not found.');
    const body = await readJsonBody(request);
    const token = access.exchange((body as { code?: unknown } | null)?.code);
    if (token === null) return refuse(response, 403, 'This code is not valid, or has been used.');
    send(response, 200, JSON.stringify({ token }), 'application/json');
  }

  function onRequest(request: IncomingMessage, response: ServerResponse): void {
    answer(request, response).catch((error: unknown) => {
      if (error instanceof BodyError) refuse(response, error.status, error.message);
      else response.destroy();
    });
  }

  function onUpgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    socket.on('error', () => socket.destroy());
    const refused: Refusal | null = gate(request, 'api', rules);
    if (refused) return refuseUpgrade(socket, refused.status);
    if (pathOf(request) !== '/api/ws') return refuseUpgrade(socket, 404);
    sockets.upgrade(request, socket, head);
  }

  function make(): Server {
    const server = createServer({ connectionsCheckingInterval: 5_000 });
    limitConnections(server);
    server.on('request', onRequest);
    server.on('upgrade', onUpgrade);
    server.on('clientError', (_error, socket) => socket.destroy());
    return server;
  }

  const servers = await listen(make, options.port);
  rules.port = (servers[0]!.address() as AddressInfo).port;
  return {
    port: rules.port,
    async close() {
      sockets.close();
      const ended = servers.map((server) => new Promise<void>((resolve) => server.close(() => resolve())));
      const cut = setTimeout(() => {
        sockets.terminate();
        for (const server of servers) server.closeAllConnections();
      }, 500);
      for (const server of servers) server.closeIdleConnections();
      await Promise.all(ended);
      clearTimeout(cut);
    },
  };
}

function pathOf(request: IncomingMessage): string {
  return (request.url ?? '/').split(/[?#]/, 1)[0]!;
}

function isApi(request: IncomingMessage): boolean {
  const path = pathOf(request);
  return path === '/api' || path.startsWith('/api/');
}

function send(response: ServerResponse, status: number, text: string, type: string): void {
  response.writeHead(status, { ...securityHeaders, 'Content-Type': type, 'Cache-Control': 'no-store' });
  response.end(text);
}

/** The rest of the request is thrown away for a second, so that the answer arrives; then the connection ends. */
function refuse(response: ServerResponse, status: number, message: string): void {
  const request = response.req;
  if (response.headersSent) return void response.destroy();
  response.setHeader('Connection', 'close');
  send(response, status, message, 'text/plain; charset=utf-8');
  request.resume();
  const cut = setTimeout(() => request.destroy(), 1000);
  request.socket.once('close', () => clearTimeout(cut));
}

function refuseUpgrade(socket: Duplex, status: number): void {
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`);
}

/** Both loopback families on one port. Where ::1 is another program's, `localhost` would be too: refused. */
async function listen(make: () => Server, port: number): Promise<Server[]> {
  for (let attempt = 0; ; attempt++) {
    const first = make();
    await listenOn(first, port, '127.0.0.1');
    const chosen = (first.address() as AddressInfo).port;
    const second = make();
    try {
      await listenOn(second, chosen, '::1');
      return [first, second];
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === 'EADDRNOTAVAIL' || code === 'EAFNOSUPPORT') return [first];
      first.close();
      if (port !== 0 || attempt === 10) throw error;
    }
  }
}

function listenOn(server: Server, port: number, host: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EADDRINUSE') {
        reject(
          new AtelierError(
            'conflict',
            `Port ${port} is in use.`,
            'End what uses it, or choose another with --port.',
          ),
        );
      } else reject(error);
    });
    server.listen({ port, host }, () => {
      server.removeAllListeners('error');
      resolve();
    });
  });
}
