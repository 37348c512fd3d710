import type { Port } from '../port';
import { Mailbox } from './mailbox';

/** What we use of Electron's MessagePortMain: a Node emitter whose events carry `{ data, ports }`. */
export interface MainPort {
  postMessage(message: unknown): void;
  on(event: 'message', listener: (event: { data: unknown }) => void): unknown;
  on(event: 'close', listener: () => void): unknown;
  start(): void;
  close(): void;
}

export function mainPort(port: MainPort): Port {
  const mailbox = new Mailbox();
  port.on('message', (event) => mailbox.deliver(event.data));
  port.on('close', () => mailbox.close());
  port.start();
  return {
    post(message) {
      if (!mailbox.closed) port.postMessage(message);
    },
    onMessage: (listener) => mailbox.onMessage(listener),
    onClose: (listener) => mailbox.onClose(listener),
    close() {
      port.close();
      mailbox.close();
    },
  };
}
