/** The closed list of what can go wrong, as the wire and every screen know it. */
export const errorCodes = [
  'invalid_input', // details.path names the field
  'not_found',
  'conflict', // the thing exists, is in use, or is in a state that forbids it
  'unsupported', // a model, file or setting that this version does not run
  'invalid_file',
  'invalid_data',
  'reward_failed',
  'template_failed',
  'device_unavailable',
  'out_of_memory',
  'disk_full',
  'io',
  'cancelled',
  'behind', // the reader fell behind: follow again from the last seq
  'forbidden',
  'unavailable', // the engine or backend is restarting
  'internal',
] as const;

export type ErrorCode = (typeof errorCodes)[number];

/** An error a person is meant to read: what failed, why, and what to do. */
export class AtelierError extends Error {
  override name = 'AtelierError';
  constructor(
    readonly code: ErrorCode,
    message: string,
    readonly hint?: string,
    readonly details?: Record<string, unknown>,
  ) {
    super(message);
  }
}
