import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { WebSocketServer, type WebSocket } from 'ws';
import { decodeMessage, MAX_MESSAGE_BYTES, socketPort, type Port } from '../../../shared/rpc';

const PING_MS = 20_000;
const AUTHENTICATE_MS = 5_000;
const MAX_UNKNOWN = 64;
/** Close code for a wrong or missing token: the page asks for a new code. */
const UNAUTHORIZED = 4401;

/**
 * WebSockets that have passed the gate. The first message is `{ auth: token }`; from then on the socket is a
 * port. One that does not answer a ping is cut.
 */
export class Sockets {
  readonly #server = new WebSocketServer({
    noServer: true,
    maxPayload: MAX_MESSAGE_BYTES,
    perMessageDeflate: false,
    clientTracking: true,
  });
  readonly #alive = new WeakSet<WebSocket>();
  readonly #unknown = new Set<WebSocket>();
  readonly #timer: NodeJS.Timeout;

  constructor(
    private readonly isToken: (value: unknown) => boolean,
    private readonly onPort: (port: Port) => void,
  ) {
    this.#timer = setInterval(() => this.#ping(), PING_MS);
    this.#timer.unref();
  }

  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    this.#server.handleUpgrade(request, socket, head, (accepted) => this.#accept(accepted));
  }

  close(): void {
    clearInterval(this.#timer);
    for (const socket of this.#server.clients) socket.close(1001, 'the backend is going away');
    this.#server.close();
  }

  /** For those that do not close by themselves. */
  terminate(): void {
    for (const socket of this.#server.clients) socket.terminate();
  }

  #accept(socket: WebSocket): void {
    this.#alive.add(socket);
    socket.binaryType = 'arraybuffer';
    socket.on('pong', () => this.#alive.add(socket));
    socket.on('error', () => socket.terminate());
    this.#unknown.add(socket);
    if (this.#unknown.size > MAX_UNKNOWN) [...this.#unknown][0]!.terminate();
    const late = setTimeout(() => socket.close(UNAUTHORIZED, 'no token came'), AUTHENTICATE_MS);
    const known = () => {
      clearTimeout(late);
      this.#unknown.delete(socket);
    };
    socket.once('close', known);
    socket.once('message', (data) => {
      known();
      if (this.isToken(authOf(data))) this.onPort(socketPort(socket as never));
      else socket.close(UNAUTHORIZED, 'wrong token');
    });
  }

  #ping(): void {
    for (const socket of this.#server.clients) {
      if (!this.#alive.has(socket)) {
        socket.terminate();
        continue;
      }
      this.#alive.delete(socket);
      socket.ping();
    }
  }
}

function authOf(data: unknown): unknown {
  try {
    return (decodeMessage(data as ArrayBuffer) as { auth?: unknown } | null)?.auth;
  } catch {
    return undefined;
  }
}
