import { portMessage, type Desktop } from '../../../shared/contract/desktop';
import { AtelierError, domPort, socketPort, type Port } from '../../../shared/rpc';
import { desktop } from './desktop';
import { forgetToken, sessionToken } from './session';

/** Opens the way to the backend that this host offers. */
export function openPort(signal: AbortSignal): Promise<Port> {
  return desktop === undefined ? openSocket(signal) : openDesktopPort(desktop, signal);
}

function openDesktopPort(host: Desktop, signal: AbortSignal): Promise<Port> {
  return new Promise((resolve, reject) => {
    const listen = (event: MessageEvent) => {
      if (event.origin !== location.origin || event.source !== window) return;
      if ((event.data as { type?: unknown } | null)?.type !== portMessage || event.ports.length !== 1) return;
      window.removeEventListener('message', listen);
      resolve(domPort(event.ports[0]!));
    };
    window.addEventListener('message', listen);
    signal.addEventListener('abort', () => {
      window.removeEventListener('message', listen);
      reject(new AtelierError('cancelled', 'Cancelled.'));
    });
    host.connect();
  });
}

const FORBIDDEN = 4401;

async function openSocket(signal: AbortSignal): Promise<Port> {
  const token = await sessionToken();
  const address = new URL('/api/ws', location.href);
  address.protocol = location.protocol === 'https:' ? 'wss:' : 'ws:';
  const socket = new WebSocket(address);
  socket.binaryType = 'arraybuffer';
  await new Promise<void>((resolve, reject) => {
    signal.addEventListener('abort', () => socket.close());
    socket.addEventListener('open', () => socket.send(JSON.stringify({ token })));
    socket.addEventListener('message', () => resolve(), { once: true });
    socket.addEventListener('close', (event) => {
      if (event.code === FORBIDDEN) {
        forgetToken();
        reject(
          new AtelierError(
            'forbidden',
            'This page is no longer allowed in.',
            'Open the address that `atelier serve` prints.',
          ),
        );
      } else reject(new AtelierError('unavailable', 'The backend cannot be reached.'));
    });
  });
  return socketPort(socket);
}
