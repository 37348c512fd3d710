// Runs inside the worker that stands for a utility process: gives it Electron's process.parentPort, then its module.
import { EventEmitter } from 'node:events';
import { parentPort, workerData } from 'node:worker_threads';

/** Electron's MessagePortMain over a Node port (fake-ports.ts has the same for the main process). */
function portMain(port) {
  const events = new EventEmitter();
  let waiting = [];
  const deliver = ({ data, ports }) => events.emit('message', { data, ports: ports.map(portMain) });
  port.on('message', (message) => (waiting ? waiting.push(message) : deliver(message)));
  port.on('close', () => events.emit('close'));
  return Object.assign(events, {
    start() {
      const held = waiting ?? [];
      waiting = null;
      held.forEach(deliver);
    },
    postMessage(data, transfer = []) {
      if (transfer.length > 0)
        throw new TypeError('a utility process that transfers ports is not part of this fake');
      port.postMessage({ data, ports: [] });
    },
    close: () => port.close(),
  });
}

const channel = new EventEmitter();
// Messages wait for the first listener, as they do in a utility process.
const held = [];
parentPort.on('message', ({ data, ports }) => {
  const event = { data, ports: ports.map(portMain) };
  if (channel.listenerCount('message') > 0) channel.emit('message', event);
  else held.push(event);
});
channel.on('newListener', (name) => {
  if (name === 'message')
    queueMicrotask(() => held.splice(0).forEach((event) => channel.emit('message', event)));
});
channel.postMessage = (message) => parentPort.postMessage(message);
process.parentPort = channel;
process.argv.push(...workerData.args);
await import(workerData.module);
