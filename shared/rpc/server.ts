import type { z } from 'zod';
import { AtelierError } from './errors';
import { asFrame, toWireError, type Frame } from './frames';
import { parseInput } from './parse';
import type { Port } from './port';
import type { Contract, Handlers, Verb } from './verb';

export interface ServeOptions {
  /** What an error of the inside is on the wire; undefined: not known to it. */
  translate?: (error: unknown) => AtelierError | undefined;
  /** An error nobody expected, with its stack, for the log. */
  onInternal?: (verb: string, error: unknown) => void;
  /** Tests check answers against the contract too. */
  checkOutput?: boolean;
  /** How long a stream waits for a reader that does not read, before it ends with `behind`. */
  patienceMs?: number;
}

/** Requests open at once on one port. */
const MAX_OPEN = 256;

type AnyHandler = (input: unknown, context: { signal: AbortSignal }) => unknown;

/** Answers a peer's calls until its port closes; closing it cancels what is open. */
export function serve<C extends Contract>(
  contract: C,
  handlers: Handlers<C>,
  port: Port,
  options: ServeOptions = {},
): void {
  const open = new Map<number, AbortController>();
  const patience = options.patienceMs ?? 10_000;

  const post = (frame: Frame): void | Promise<void> => port.post(frame);

  function fail(id: number, verb: string, error: unknown, aborted: boolean): void {
    let known = error instanceof AtelierError ? error : options.translate?.(error);
    if (!known && aborted) known = new AtelierError('cancelled', 'Cancelled.');
    if (!known) {
      options.onInternal?.(verb, error);
      known = new AtelierError('internal', 'Something went wrong inside. The log has the details.');
    }
    void post({ t: 'error', id, error: toWireError(known) });
  }

  /** Waits until the peer has taken enough of what was sent. */
  async function drained(sent: void | Promise<void>, signal: AbortSignal): Promise<void> {
    if (!sent) return;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const late = new Promise<'late'>((resolve) => {
      timer = setTimeout(() => resolve('late'), patience);
      signal.addEventListener('abort', () => resolve('late'), { once: true });
    });
    const outcome = await Promise.race([sent, late]);
    clearTimeout(timer);
    if (outcome === 'late' && !signal.aborted) {
      throw new AtelierError(
        'behind',
        'The reader fell behind.',
        'Follow again from the last item received.',
      );
    }
  }

  function output(schema: z.ZodType, value: unknown): unknown {
    return options.checkOutput ? schema.parse(value) : value;
  }

  async function answer(
    id: number,
    name: string,
    verb: Verb,
    handler: AnyHandler,
    raw: unknown,
  ): Promise<void> {
    const control = new AbortController();
    open.set(id, control);
    try {
      const input = parseInput(verb.input, raw);
      if (verb.kind === 'call') {
        const value = await handler(input, { signal: control.signal });
        void post({ t: 'result', id, value: output(verb.output, value) });
        return;
      }
      for await (const item of handler(input, { signal: control.signal }) as AsyncIterable<unknown>) {
        if (control.signal.aborted) break;
        await drained(post({ t: 'item', id, value: output(verb.item, item) }), control.signal);
      }
      if (control.signal.aborted) throw new AtelierError('cancelled', 'Cancelled.');
      void post({ t: 'end', id });
    } catch (error) {
      fail(id, name, error, control.signal.aborted);
    } finally {
      open.delete(id);
    }
  }

  port.onMessage((message) => {
    const frame = asFrame(message);
    if (frame?.t === 'cancel') {
      open.get(frame.id)?.abort(new AtelierError('cancelled', 'Cancelled.'));
      return;
    }
    if (frame?.t !== 'call') return;
    const { id, verb: name } = frame;
    const found = lookUp(contract, handlers, name);
    if (!found)
      fail(id, name, new AtelierError('not_found', `There is no verb "${name.slice(0, 80)}".`), false);
    else if (open.has(id))
      fail(id, name, new AtelierError('invalid_input', `Request ${id} is open already.`), false);
    else if (open.size >= MAX_OPEN) {
      fail(id, name, new AtelierError('unavailable', `More than ${MAX_OPEN} requests at once.`), false);
    } else void answer(id, name, found.verb, found.handler, frame.input);
  });
  port.onClose(() => {
    for (const control of open.values()) control.abort(new AtelierError('cancelled', 'The page went away.'));
  });
}

function lookUp<C extends Contract>(contract: C, handlers: Handlers<C>, name: string) {
  const [domain = '', verb = '', ...rest] = name.split('.');
  if (rest.length > 0 || !Object.hasOwn(contract, domain) || !Object.hasOwn(contract[domain]!, verb))
    return null;
  const group = (handlers as Record<string, Record<string, AnyHandler>>)[domain]!;
  return { verb: contract[domain]![verb]!, handler: (group[verb] as AnyHandler).bind(group) };
}
