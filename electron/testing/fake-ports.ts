import { EventEmitter } from 'node:events';
import { MessageChannel, type MessagePort } from 'node:worker_threads';

/**
 * Electron's MessagePortMain over a Node port, shape and manners alike: events carry `{ data, ports }`,
 * nothing arrives before start(), and a transfer list takes ports and nothing else.
 */
export class FakeMessagePortMain extends EventEmitter {
  private waiting: unknown[] | null = [];
  constructor(readonly node: MessagePort) {
    super();
    node.on('message', (message: { data: unknown; ports: MessagePort[] }) => {
      if (this.waiting) this.waiting.push(message);
      else this.deliver(message);
    });
    node.on('close', () => this.emit('close'));
  }
  private deliver(message: { data: unknown; ports: MessagePort[] }): void {
    this.emit('message', {
      data: message.data,
      ports: message.ports.map((port) => new FakeMessagePortMain(port)),
    });
  }
  start(): void {
    const held = this.waiting ?? [];
    this.waiting = null;
    for (const message of held) this.deliver(message as { data: unknown; ports: MessagePort[] });
  }
  postMessage(data: unknown, transfer: FakeMessagePortMain[] = []): void {
    const ports = nodePorts(transfer);
    this.node.postMessage({ data, ports }, ports);
  }
  close(): void {
    this.node.close();
  }
}
FakeMessagePortMain satisfies new (
  ...args: never[]
) => Pick<Electron.MessagePortMain, 'start' | 'close'> & EventEmitter;

/** Electron throws on a transfer list with anything but MessagePortMain. */
export function nodePorts(transfer: unknown[]): MessagePort[] {
  return transfer.map((port, i) => {
    if (!(port instanceof FakeMessagePortMain))
      throw new TypeError(`Port at index ${i} is not a valid port: only MessagePortMain can be transferred`);
    return port.node;
  });
}

export class FakeMessageChannelMain {
  readonly port1: FakeMessagePortMain;
  readonly port2: FakeMessagePortMain;
  constructor() {
    const { port1, port2 } = new MessageChannel();
    this.port1 = new FakeMessagePortMain(port1);
    this.port2 = new FakeMessagePortMain(port2);
  }
}
