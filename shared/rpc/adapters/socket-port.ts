import { decodeMessage, encodeMessage } from '../codec';
import type { Port } from '../port';
import { Mailbox } from './mailbox';

/** What we use of a WebSocket: the browser's, and the `ws` package's on the server. */
export interface Socket {
  binaryType: string;
  readonly readyState: number;
  readonly bufferedAmount: number;
  send(data: Uint8Array<ArrayBuffer>): void;
  close(code?: number, reason?: string): void;
  addEventListener(type: 'message', listener: (event: { data: unknown }) => void): void;
  addEventListener(type: 'close', listener: () => void): void;
}

/** Bytes not yet taken by the network above which a sender is asked to wait. */
const HIGH_WATER = 4 * 1024 * 1024;
const POLL_MS = 20;
const OPEN = 1;

/** An open socket as a port. A message that cannot be decoded closes it. */
export function socketPort(socket: Socket): Port {
  const mailbox = new Mailbox();
  socket.binaryType = 'arraybuffer';
  socket.addEventListener('message', (event) => {
    let message: unknown;
    try {
      if (!(event.data instanceof ArrayBuffer)) throw new TypeError('not binary');
      message = decodeMessage(event.data);
    } catch {
      socket.close(1007, 'not a message of this protocol');
      return;
    }
    mailbox.deliver(message);
  });
  socket.addEventListener('close', () => mailbox.close());

  /** WebSocket has no drain event. */
  function drained(): Promise<void> {
    return new Promise((resolve) => {
      const look = () => {
        if (socket.readyState !== OPEN || socket.bufferedAmount <= HIGH_WATER) resolve();
        else setTimeout(look, POLL_MS);
      };
      look();
    });
  }

  return {
    post(message) {
      if (socket.readyState !== OPEN) return undefined;
      socket.send(encodeMessage(message));
      return socket.bufferedAmount > HIGH_WATER ? drained() : undefined;
    },
    onMessage: (listener) => mailbox.onMessage(listener),
    onClose: (listener) => mailbox.onClose(listener),
    close() {
      socket.close();
      mailbox.close();
    },
  };
}
