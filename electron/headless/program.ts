import { AtelierError } from '../../shared/rpc';

type Thrown = Error & { hint?: string; code?: string; details?: Record<string, unknown> };

/** Ends the process with what its work came to: an exit code, or an error a person can read (2: wrong arguments). */
export function endWith(name: string, work: Promise<number>): void {
  work.then(
    (code) => process.exit(code),
    (error: unknown) => {
      const { hint, code, stack, details, message: text } = error as Thrown;
      const field = details?.['path'];
      // a screen shows it beside its field; here the field must be named, unless an argument is meant
      const named = typeof field !== 'string' || field === 'path' || text.includes(field);
      const message = named ? text : `${field}: ${text}`;
      const usage = code?.startsWith('ERR_PARSE_ARGS') === true;
      const known = usage || error instanceof AtelierError || (error as Error).name === 'EngineError';
      process.stderr.write(`${name}: ${known ? message : (stack ?? message)}\n${hint ? `${hint}\n` : ''}`);
      process.exit(usage ? 2 : 1);
    },
  );
}
