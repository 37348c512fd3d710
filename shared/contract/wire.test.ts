import { fork } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { MessageChannel, type MessagePort } from 'node:worker_threads';
import { afterEach, describe, expect, it } from 'vitest';
import { WebSocket, WebSocketServer } from 'ws';
import {
  createClient,
  domPort,
  mainPort,
  processPort,
  serve,
  socketPort,
  type Handlers,
  type Port,
} from '../rpc';
import type { DomPort } from '../rpc/adapters/dom-port';
import type { MainPort } from '../rpc/adapters/main-port';
import type { Socket } from '../rpc/adapters/socket-port';
import { contract, type AtelierContract } from './index';
import { everyVerb, samples } from './testing/samples';

const cleanups: (() => void)[] = [];
afterEach(() => cleanups.splice(0).forEach((clean) => clean()));

/** Electron's exact shape: a Node emitter whose message events carry `{ data, ports }`; silent until start(). */
function asMainPort(port: MessagePort): MainPort {
  const emitter = new EventEmitter();
  port.on('message', (data) => emitter.emit('message', { data, ports: [] }));
  port.on('close', () => emitter.emit('close'));
  return {
    postMessage: (message) => port.postMessage(message),
    on: (event: string, listener: (...event: never[]) => void) => emitter.on(event, listener as () => void),
    start: () => port.start(),
    close: () => port.close(),
  } as MainPort;
}

const adapters: Record<string, () => Promise<[client: Port, server: Port]>> = {
  'DOM port': async () => {
    const { port1, port2 } = new MessageChannel();
    return [domPort(port1 as unknown as DomPort), domPort(port2 as unknown as DomPort)];
  },
  'MessagePortMain, with the page on the other side': async () => {
    const { port1, port2 } = new MessageChannel();
    return [domPort(port1 as unknown as DomPort), mainPort(asMainPort(port2))];
  },
  'child process': async () => {
    // the server's frames travel to a real process and back before the client sees them, and the client's too
    const near: Port[] = [];
    for (let k = 0; k < 2; k++) {
      const child = fork(fileURLToPath(new URL('testing/echo-child.mjs', import.meta.url)), {
        serialization: 'advanced',
      });
      cleanups.push(() => child.kill('SIGKILL'));
      await once(child, 'message');
      near.push(processPort(child));
    }
    const [toServer, toClient] = near as [Port, Port];
    return [
      { ...toClient, post: (m) => toServer.post(m) },
      { ...toServer, post: (m) => toClient.post(m) },
    ];
  },
  WebSocket: async () => {
    const server = new WebSocketServer({ port: 0, host: '127.0.0.1' });
    cleanups.push(() => server.close());
    await once(server, 'listening');
    const page = new WebSocket(`ws://127.0.0.1:${(server.address() as AddressInfo).port}`);
    const [[accepted]] = (await Promise.all([once(server, 'connection'), once(page, 'open')])) as [
      [Socket],
      unknown,
    ];
    return [socketPort(page as unknown as Socket), socketPort(accepted)];
  },
};

/** Answers every verb by its sample, keeping what was asked. */
function sampleHandlers(asked: Map<string, unknown>): Handlers<AtelierContract> {
  const handlers: Record<string, Record<string, unknown>> = {};
  for (const { domain, name, verb, sample } of everyVerb()) {
    (handlers[domain] ??= {})[name] =
      verb.kind === 'call'
        ? (input: unknown) => {
            asked.set(`${domain}.${name}`, input);
            return sample.output;
          }
        : async function* (input: unknown) {
            asked.set(`${domain}.${name}`, input);
            yield* sample.items!;
          };
  }
  return handlers as Handlers<AtelierContract>;
}

describe.each(Object.keys(adapters))('over %s', (adapter) => {
  it('carries a sample of every verb whole', async () => {
    const [near, far] = await adapters[adapter]!();
    cleanups.push(() => near.close());
    const asked = new Map<string, unknown>();
    serve(contract, sampleHandlers(asked), far, { checkOutput: true });
    const client = createClient(contract, near) as unknown as Record<
      string,
      Record<string, (input: unknown) => unknown>
    >;
    for (const { domain, name, verb, sample } of everyVerb()) {
      const answer = client[domain]![name]!(sample.input);
      if (verb.kind === 'call') {
        expect(await answer, `${domain}.${name}`).toEqual(verb.output.parse(sample.output));
      } else {
        const items: unknown[] = [];
        for await (const item of answer as AsyncIterable<unknown>) items.push(item);
        expect(items, `${domain}.${name}`).toEqual(sample.items!.map((item) => verb.item.parse(item)));
      }
      expect(asked.get(`${domain}.${name}`), `${domain}.${name}`).toEqual(verb.input.parse(sample.input));
    }
  });

  it('keeps typed arrays of any offset', async () => {
    const [near, far] = await adapters[adapter]!();
    cleanups.push(() => near.close());
    const handlers = sampleHandlers(new Map());
    const backing = new Float32Array(16).map((_, k) => k / 3);
    handlers.runs.tokens = () => ({ ...samples.runs.tokens.output, logp: backing.subarray(3, 7) });
    serve(contract, handlers, far);
    const { logp } = await createClient(contract, near).runs.tokens({ id: 'x', rollout: 1 });
    expect(logp).toEqual(backing.slice(3, 7));
  });

  it('fails what is open with "unavailable" when the other end goes away', async () => {
    const [near, far] = await adapters[adapter]!();
    const handlers = sampleHandlers(new Map());
    const entered = new Promise<void>((resolve) => {
      handlers.runs.list = () => new Promise(() => resolve());
    });
    serve(contract, handlers, far);
    const answer = createClient(contract, near).runs.list({});
    await entered;
    if (adapter === 'child process') near.close();
    else far.close();
    await expect(answer).rejects.toMatchObject({ code: 'unavailable' });
  });
});
