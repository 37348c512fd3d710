import { AtelierError } from './errors';
import { asFrame, fromWireError, type Frame } from './frames';
import type { Port } from './port';
import type { Client, Contract } from './verb';

/** Items a stream holds for a consumer that does not take them, before it ends with `behind`. */
const MAX_QUEUED = 8192;

interface Open {
  frame(frame: Frame): void;
  fail(error: AtelierError): void;
}

interface Options {
  signal?: AbortSignal;
}

/** The contract's verbs over a port. When the port closes, everything open fails with `unavailable`. */
export function createClient<C extends Contract>(contract: C, port: Port): Client<C> {
  const open = new Map<number, Open>();
  let nextId = 1;
  let closed = false;

  const gone = () => new AtelierError('unavailable', 'The connection to the backend was lost.');

  port.onMessage((message) => {
    const frame = asFrame(message);
    if (frame) open.get(frame.id)?.frame(frame);
  });
  port.onClose(() => {
    closed = true;
    const left = [...open.values()];
    open.clear();
    for (const request of left) request.fail(gone());
  });

  function begin(verb: string, input: unknown, request: Open, signal: AbortSignal | undefined) {
    const id = nextId++;
    const finish = () => {
      open.delete(id);
      signal?.removeEventListener('abort', cancel);
    };
    const cancel = () => {
      if (!open.has(id)) return;
      finish();
      void port.post({ t: 'cancel', id } satisfies Frame);
      request.fail(new AtelierError('cancelled', 'Cancelled.'));
    };
    if (closed) request.fail(gone());
    else if (signal?.aborted) request.fail(new AtelierError('cancelled', 'Cancelled.'));
    else {
      open.set(id, request);
      signal?.addEventListener('abort', cancel, { once: true });
      void port.post({ t: 'call', id, verb, input } satisfies Frame);
    }
    return { finish, cancel };
  }

  function call(verb: string, input: unknown, options: Options = {}): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const request: Open = {
        frame(frame) {
          if (frame.t !== 'result' && frame.t !== 'error') return;
          handle.finish();
          if (frame.t === 'result') resolve(frame.value);
          else reject(fromWireError(frame.error));
        },
        fail: reject,
      };
      const handle = begin(verb, input, request, options.signal);
    });
  }

  function stream(verb: string, input: unknown, options: Options = {}): AsyncIterable<unknown> {
    return { [Symbol.asyncIterator]: () => iterate(verb, input, options) };
  }

  function iterate(verb: string, input: unknown, options: Options): AsyncIterator<unknown> {
    const queue: unknown[] = [];
    let over = false;
    let failure: AtelierError | null = null;
    let waiting: { resolve(result: IteratorResult<unknown>): void; reject(error: unknown): void } | null =
      null;

    function settle() {
      if (!waiting) return;
      const { resolve, reject } = waiting;
      if (queue.length > 0) resolve({ done: false, value: queue.shift() });
      else if (failure) {
        reject(failure);
        failure = null;
      } else if (over) resolve({ done: true, value: undefined });
      else return;
      waiting = null;
    }
    function end(error: AtelierError | null) {
      over = true;
      failure = error;
      settle();
    }

    const request: Open = {
      frame(frame) {
        if (frame.t === 'item') {
          queue.push(frame.value);
          if (queue.length > MAX_QUEUED && !waiting) {
            handle.cancel();
            failure = new AtelierError(
              'behind',
              'This reader fell behind.',
              'Follow again from the last item.',
            );
          }
          settle();
        } else if (frame.t === 'end' || frame.t === 'error') {
          handle.finish();
          end(frame.t === 'error' ? fromWireError(frame.error) : null);
        }
      },
      fail: end,
    };
    const handle = begin(verb, input, request, options.signal);

    return {
      next: () =>
        new Promise((resolve, reject) => {
          waiting = { resolve, reject };
          settle();
        }),
      return() {
        queue.length = 0;
        handle.cancel();
        failure = null;
        over = true;
        return Promise.resolve({ done: true, value: undefined });
      },
    };
  }

  const client: Record<string, Record<string, unknown>> = {};
  for (const [domain, verbs] of Object.entries(contract)) {
    const group: Record<string, unknown> = (client[domain] = {});
    for (const [name, verb] of Object.entries(verbs)) {
      const wire = `${domain}.${name}`;
      group[name] =
        verb.kind === 'call'
          ? (input: unknown, options?: Options) => call(wire, input, options)
          : (input: unknown, options?: Options) => stream(wire, input, options);
    }
  }
  return client as Client<C>;
}
