import { AtelierError, errorCodes, type ErrorCode } from './errors';

export interface WireError {
  code: ErrorCode;
  message: string;
  hint?: string;
  details?: Record<string, unknown>;
}

/** The six frames. Ids are chosen by the caller and unique among its open requests. */
export type Frame =
  | { t: 'call'; id: number; verb: string; input: unknown }
  | { t: 'cancel'; id: number }
  | { t: 'result'; id: number; value: unknown }
  | { t: 'item'; id: number; value: unknown }
  | { t: 'end'; id: number }
  | { t: 'error'; id: number; error: WireError };

const kinds = new Set(['call', 'cancel', 'result', 'item', 'end', 'error']);

/** What a peer sent, as a frame; null where it is none. */
export function asFrame(message: unknown): Frame | null {
  if (typeof message !== 'object' || message === null) return null;
  const frame = message as Record<string, unknown>;
  if (!kinds.has(frame['t'] as string) || !Number.isSafeInteger(frame['id'])) return null;
  if (frame['t'] === 'call' && typeof frame['verb'] !== 'string') return null;
  if (frame['t'] === 'error' && (typeof frame['error'] !== 'object' || frame['error'] === null)) return null;
  return frame as Frame;
}

export function toWireError(error: AtelierError): WireError {
  return {
    code: error.code,
    message: error.message,
    ...(error.hint === undefined ? {} : { hint: error.hint }),
    ...(error.details === undefined ? {} : { details: error.details }),
  };
}

export function fromWireError(error: WireError): AtelierError {
  const code = errorCodes.includes(error.code) ? error.code : 'internal';
  return new AtelierError(code, String(error.message), error.hint, error.details);
}
