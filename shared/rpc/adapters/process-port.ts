import type { Port } from '../port';
import { Mailbox } from './mailbox';

/**
 * Either end of a Node child process with an IPC channel: the ChildProcess of the parent, `process` of the
 * child. It must have been forked with `serialization: 'advanced'`, or typed arrays turn into objects.
 */
export interface ProcessEnd {
  send?(message: unknown, callback: (error: Error | null) => void): boolean;
  on(event: 'message', listener: (message: unknown) => void): unknown;
  on(event: 'disconnect', listener: () => void): unknown;
  disconnect?(): void;
  readonly connected?: boolean;
}

export function processPort(end: ProcessEnd): Port {
  const mailbox = new Mailbox();
  end.on('message', (message) => mailbox.deliver(message));
  end.on('disconnect', () => mailbox.close());
  if (end.connected === false) mailbox.close();
  return {
    post(message) {
      if (mailbox.closed || !end.connected) return undefined;
      return new Promise((resolve) => {
        // an error here means that the other end is going away: `disconnect` follows and tells so
        end.send!(message, () => resolve());
      });
    },
    onMessage: (listener) => mailbox.onMessage(listener),
    onClose: (listener) => mailbox.onClose(listener),
    close() {
      if (end.connected) end.disconnect?.();
      mailbox.close();
    },
  };
}
