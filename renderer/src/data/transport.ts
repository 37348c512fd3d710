import { portMessage, type Desktop } from '../../../shared/contract/desktop';
import { AtelierError, domPort, socketPort, type Port } from '../../../shared/rpc';
import { desktop } from './desktop';
import { forgetToken, sessionToken } from './session';

/** How a page gets its port to the backend, on the host that it finds itself on. */
export function portOpener(): (signal: AbortSignal) => Promise<Port> {
  return desktop === undefined ? openSocket : desktopOpener(desktop);
}

/**
 * Preload may hand over a port at any time, also unasked after the backend has started again: the newest one
 * counts. The old one is closed, so that the connection opens anew and finds the new one waiting.
 */
function desktopOpener(host: Desktop): (signal: AbortSignal) => Promise<Port> {
  let current: Port | null = null;
  let offered: Port | null = null;
  let wanted: ((port: Port) => void) | null = null;
  window.addEventListener('message', (event: MessageEvent) => {
    if (event.origin !== location.origin || event.source !== window) return;
    if ((event.data as { type?: unknown } | null)?.type !== portMessage || event.ports.length !== 1) return;
    const port = domPort(event.ports[0]!);
    if (wanted !== null) wanted(port);
    else {
      offered?.close();
      offered = port;
      current?.close();
    }
  });
  return (signal) =>
    new Promise((resolve, reject) => {
      const take = (port: Port) => {
        offered = null;
        wanted = null;
        current = port;
        resolve(port);
      };
      if (offered !== null) {
        take(offered);
        return;
      }
      wanted = take;
      signal.addEventListener('abort', () => reject(new AtelierError('cancelled', 'Cancelled.')), {
        once: true,
      });
      host.connect();
    });
}

/** The close code that says: this token is not known here. */
const FORBIDDEN = 4401;

async function openSocket(signal: AbortSignal): Promise<Port> {
  const token = await sessionToken();
  const address = new URL('/api/ws', location.href);
  address.protocol = location.protocol === 'https:' ? 'wss:' : 'ws:';
  const socket = new WebSocket(address);
  await new Promise<void>((resolve, reject) => {
    signal.addEventListener('abort', () => socket.close(), { once: true });
    socket.addEventListener('open', () => resolve());
    socket.addEventListener('close', () =>
      reject(new AtelierError('unavailable', 'The backend cannot be reached.')),
    );
  });
  // the next attempt finds no token and says what to do
  socket.addEventListener('close', ({ code }) => code === FORBIDDEN && forgetToken());
  const port = socketPort(socket as unknown as Parameters<typeof socketPort>[0]);
  void port.post({ auth: token });
  return port;
}
