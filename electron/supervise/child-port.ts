import { Mailbox } from '../../shared/rpc/adapters/mailbox';
import { mainPort, type MainPort } from '../../shared/rpc/adapters/main-port';
import { processPort } from '../../shared/rpc/adapters/process-port';
import type { Port } from '../../shared/rpc/port';

interface ParentPort {
  once(event: 'message', listener: (event: { data: unknown; ports: MainPort[] }) => void): unknown;
}

/**
 * A helper process's port to whoever asked for it: the IPC channel of a Node child, or, in a utility process,
 * the port that main hands over with its first message. What is posted before that waits.
 */
export function childPort(): Port {
  const parent = (process as unknown as { parentPort?: ParentPort }).parentPort;
  if (parent === undefined) return processPort(process);
  const mailbox = new Mailbox();
  const waiting: unknown[] = [];
  let port: Port | null = null;
  parent.once('message', (event) => {
    port = mainPort(event.ports[0]!);
    port.onMessage((message) => mailbox.deliver(message));
    port.onClose(() => mailbox.close());
    for (const message of waiting.splice(0)) void port.post(message);
  });
  return {
    post: (message) => (port === null ? void waiting.push(message) : port.post(message)),
    onMessage: (listener) => mailbox.onMessage(listener),
    onClose: (listener) => mailbox.onClose(listener),
    close: () => (port === null ? mailbox.close() : port.close()),
  };
}
