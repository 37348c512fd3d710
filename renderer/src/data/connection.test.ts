import { expect, test, vi } from 'vitest';
import { AtelierError, serve, type Port } from '../../../shared/rpc';
import { contract } from '../../../shared/contract';
import { Connection } from './connection';

/** Two ends of a port in this process, with a contract's answers at the far one. */
function pair(): { near: Port; far: Port } {
  const make = () => {
    const kept: unknown[] = [];
    const closers: (() => void)[] = [];
    let listener: ((message: unknown) => void) | null = null;
    return {
      deliver: (message: unknown) => (listener === null ? kept.push(message) : listener(message)),
      closed: () => closers.forEach((close) => close()),
      port: (
        other: () => { deliver: (message: unknown) => unknown; closed: () => void },
        closeBoth: () => void,
      ): Port => ({
        post: (message) => queueMicrotask(() => other().deliver(message)),
        onMessage(next) {
          listener = next;
          kept.splice(0).forEach(next);
        },
        onClose: (closer) => closers.push(closer),
        close: closeBoth,
      }),
    };
  };
  const a = make();
  const b = make();
  const close = () => {
    a.closed();
    b.closed();
  };
  return { near: a.port(() => b, close), far: b.port(() => a, close) };
}

function backend(): { near: Port; far: Port } {
  const both = pair();
  const handlers = { models: { list: () => [] } } as unknown as Parameters<typeof serve<typeof contract>>[1];
  serve(contract, handlers, both.far);
  return both;
}

test('requests made before the connection wait for it', async () => {
  let open: (port: Port) => void = () => undefined;
  const connection = new Connection(() => new Promise((resolve) => (open = resolve)));
  const list = connection.client.models.list({});
  open(backend().near);
  expect(await list).toEqual([]);
  connection.close();
});

test('comes back by itself, and what is asked meanwhile is answered then', async () => {
  const first = backend();
  const ports = [first.near, backend().near];
  const connection = new Connection(async () => ports.shift() ?? Promise.reject(new Error('no more')));
  await connection.client.models.list({});
  first.far.close();
  expect(connection.state().phase).toBe('lost');
  expect(await connection.client.models.list({})).toEqual([]);
  expect(connection.state().phase).toBe('open');
  connection.close();
});

test('a page that is not let in says so and does not try again', async () => {
  const open = vi.fn(async () => {
    throw new AtelierError('forbidden', 'no code');
  });
  const connection = new Connection(open);
  await expect(connection.client.models.list({})).rejects.toMatchObject({ code: 'forbidden' });
  expect(connection.state().phase).toBe('refused');
  expect(open).toHaveBeenCalledTimes(1);
});
