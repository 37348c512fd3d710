// Runs in the page, before it: stands where Electron's preload does and hands over real MessagePorts. What is posted
// on them goes to the server of the page over a WebSocket, so that the product's own handlers answer.
import { portMessage, type Desktop } from '../../../shared/contract/desktop';
import { domPort, socketPort, type Port } from '../../../shared/rpc';
import { sessionToken } from '../../../renderer/src/data/session';

interface Link {
  port: Port;
  /** Messages that the page has sent on it. */
  sent: number;
  closed: boolean;
}

export interface Shell {
  /** How often the page has asked for a port. */
  asked: number;
  /** False while there is no backend: who asks is served once there is one. */
  ready: boolean;
  links: Link[];
  /** Hands over a port, asked or not. */
  introduce(): Promise<void>;
}

const shell: Shell = {
  asked: 0,
  ready: true,
  links: [],
  async introduce() {
    const { port1, port2 } = new MessageChannel();
    const far = await openServer();
    const link: Link = { port: domPort(port1), sent: 0, closed: false };
    link.port.onMessage((message) => {
      link.sent += 1;
      void far.post(message);
    });
    link.port.onClose(() => {
      link.closed = true;
      far.close();
    });
    far.onMessage((message) => void link.port.post(message));
    far.onClose(() => link.port.close());
    shell.links.push(link);
    window.postMessage({ type: portMessage }, location.origin, [port2]);
  },
};

async function openServer(): Promise<Port> {
  const token = await sessionToken();
  const socket = new WebSocket(new URL('/api/ws', location.href.replace(/^http/, 'ws')));
  await new Promise((resolve) => socket.addEventListener('open', resolve));
  const port = socketPort(socket as never);
  void port.post({ auth: token });
  return port;
}

const desktop: Desktop = {
  platform: 'linux',
  connect() {
    shell.asked += 1;
    if (shell.ready) void shell.introduce();
  },
  chooseModel: async () => null,
  chooseDataset: async () => null,
  chooseExportFolder: async () => null,
  showInFolder: async () => undefined,
  openExternal: async () => false,
};

Object.assign(window, { atelier: desktop, shell });
