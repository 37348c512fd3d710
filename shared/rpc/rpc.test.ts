import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { Mailbox } from './adapters/mailbox';
import { AtelierError, createClient, serve, type Handlers, type Port, type ServeOptions } from './index';
import { decodeMessage, encodeMessage } from './codec';
import { call, stream } from './verb';

const contract = {
  demo: {
    add: call(z.object({ a: z.number(), list: z.array(z.object({ b: z.number() })) }), z.number()),
    any: call(z.unknown(), z.unknown()),
    count: stream(z.object({ to: z.number() }), z.number()),
  },
};
type Demo = Handlers<typeof contract>['demo'];

/** Two ends in one thread; `hold` keeps the server's posts from settling, as a full buffer does. */
function pair(hold?: Promise<void>): [Port, Port] {
  const boxes = [new Mailbox(), new Mailbox()] as const;
  const end = (own: Mailbox, other: Mailbox, wait?: Promise<void>): Port => ({
    post(message) {
      queueMicrotask(() => other.deliver(message));
      return wait;
    },
    onMessage: (listener) => own.onMessage(listener),
    onClose: (listener) => own.onClose(listener),
    close() {
      own.close();
      other.close();
    },
  });
  return [end(boxes[0], boxes[1]), end(boxes[1], boxes[0], hold)];
}

function connect(handlers: Partial<Demo>, options: ServeOptions = {}, hold?: Promise<void>) {
  const all: Demo = {
    add: ({ a, list }) => a + list.length,
    any: (x) => x,
    async *count({ to }) {
      for (let k = 0; k < to; k++) yield k;
    },
    ...handlers,
  };
  const [near, far] = pair(hold);
  serve(contract, { demo: all }, far, options);
  return { client: createClient(contract, near), near };
}

async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = [];
  for await (const item of items) list.push(item);
  return list;
}

describe('calls', () => {
  it('names the field of an invalid input', async () => {
    const { client } = connect({});
    await expect(client.demo.add({ a: 1, list: [{ b: 'x' as never }] })).rejects.toMatchObject({
      code: 'invalid_input',
      details: { path: 'list.0.b' },
    });
  });

  it('refuses 10,000 levels of nesting', async () => {
    const { client } = connect({});
    let deep: unknown = 1;
    for (let k = 0; k < 10_000; k++) deep = [deep];
    await expect(client.demo.any(deep)).rejects.toMatchObject({ code: 'invalid_input' });
  });

  it('passes code, hint and details of an error, and hides the inside', async () => {
    const seen: unknown[] = [];
    const { client } = connect(
      {
        add: () => {
          throw new AtelierError('conflict', 'in use', 'wait', { by: 'x' });
        },
        any: () => {
          throw new Error('secret /home/x');
        },
      },
      { onInternal: (verb, error) => seen.push([verb, (error as Error).message]) },
    );
    await expect(client.demo.add({ a: 1, list: [] })).rejects.toMatchObject({
      code: 'conflict',
      message: 'in use',
      hint: 'wait',
      details: { by: 'x' },
    });
    const failure = await Promise.resolve(client.demo.any(1)).catch(
      (error: unknown) => error as AtelierError,
    );
    expect(failure).toMatchObject({ code: 'internal' });
    expect((failure as AtelierError).message).not.toContain('secret');
    expect(seen).toEqual([['demo.any', 'secret /home/x']]);
  });

  it('reaches only verbs of the contract', async () => {
    const { near } = connect({});
    const replies: unknown[] = [];
    near.onMessage((message) => replies.push(message));
    const verbs = ['demo.constructor', 'constructor.name', '__proto__.toString', 'demo', 'demo.add.x', ''];
    verbs.forEach((verb, id) => void near.post({ t: 'call', id, verb, input: {} }));
    for (const junk of [null, 7, 'x', {}, { t: 'call', id: 'x' }, { t: 'nope', id: 1 }]) void near.post(junk);
    await new Promise((resolve) => setTimeout(resolve, 0));
    expect(replies).toHaveLength(verbs.length);
    for (const reply of replies) expect(reply).toMatchObject({ t: 'error', error: { code: 'not_found' } });
  });

  it('is cancelled by its signal, on both sides', async () => {
    let handlerSignal: AbortSignal | undefined;
    const { client } = connect({
      any: (_x, { signal }) =>
        new Promise((_resolve, reject) => {
          handlerSignal = signal;
          signal.addEventListener('abort', () => reject(signal.reason));
          control.abort();
        }),
    });
    const control = new AbortController();
    await expect(client.demo.any(1, { signal: control.signal })).rejects.toMatchObject({ code: 'cancelled' });
    await Promise.resolve();
    expect(handlerSignal!.aborted).toBe(true);
  });
});

describe('streams', () => {
  it('delivers in order and ends', async () => {
    const { client } = connect({});
    expect(await collect(client.demo.count({ to: 5000 }))).toEqual(Array.from({ length: 5000 }, (_, k) => k));
  });

  it('stops the handler when the reader leaves', async () => {
    const ended = later();
    const { client } = connect({
      async *count() {
        try {
          for (let k = 0; ; k++) {
            yield k;
            await new Promise((resolve) => setTimeout(resolve, 0));
          }
        } finally {
          ended.resolve();
        }
      },
    });
    for await (const k of client.demo.count({ to: 0 })) if (k === 3) break;
    await ended.promise;
  });

  it('waits for a slow transport, and gives up with "behind" after its patience', async () => {
    let made = 0;
    const hold = new Promise<void>(() => {});
    const { client } = connect(
      {
        async *count() {
          for (;;) yield made++;
        },
      },
      { patienceMs: 20 },
      hold,
    );
    await expect(collect(client.demo.count({ to: 0 }))).rejects.toMatchObject({ code: 'behind' });
    expect(made).toBe(1);
  });

  it('bounds what a client holds for a consumer that does not take it', async () => {
    const { client } = connect({});
    const items = client.demo.count({ to: 20_000 })[Symbol.asyncIterator]();
    await new Promise((resolve) => setTimeout(resolve, 50));
    let taken = 0;
    const failure = await (async () => {
      for (;;) {
        if ((await items.next()).done) return null;
        taken++;
      }
    })().catch((error: unknown) => error);
    expect(failure).toMatchObject({ code: 'behind' });
    expect(taken).toBeLessThan(10_000);
  });
});

function later() {
  let resolve!: () => void;
  const promise = new Promise<void>((done) => (resolve = done));
  return { promise, resolve };
}

it('a typed array keeps its numbers, whatever is written later where its message lay', () => {
  const ids = Int32Array.of(5, -1, 2 ** 31 - 1);
  const message = encodeMessage({ ids });
  // as what comes from a socket or a file: not at the start of its memory, and a slice of a Buffer is no copy
  const memory = Buffer.alloc(message.byteLength + 3);
  memory.set(message, 3);
  const { ids: read } = decodeMessage(memory.subarray(3)) as { ids: Int32Array };
  memory.fill(0);
  expect(read).toEqual(ids);
});
