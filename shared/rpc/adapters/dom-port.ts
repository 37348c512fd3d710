import type { Port } from '../port';
import { Mailbox } from './mailbox';

/** What we use of the DOM's MessagePort; browsers and Node's worker_threads both have it. */
export interface DomPort {
  postMessage(message: unknown): void;
  addEventListener(type: 'message', listener: (event: { data: unknown }) => void): void;
  addEventListener(type: 'close', listener: () => void): void;
  start(): void;
  close(): void;
}

/** A MessagePort has no sign of a full buffer; the client's own bound guards its side. */
export function domPort(port: DomPort): Port {
  const mailbox = new Mailbox();
  port.addEventListener('message', (event) => mailbox.deliver(event.data));
  port.addEventListener('close', () => mailbox.close());
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
