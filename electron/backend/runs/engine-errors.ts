import { EngineError, type EngineErrorCode } from '../../../native/face';
import { AtelierError, type ErrorCode } from '../../../shared/rpc';
import { isDiskFull } from '../store';

const codes: Record<EngineErrorCode, ErrorCode> = {
  invalid_argument: 'invalid_input',
  device_unavailable: 'device_unavailable',
  invalid_file: 'invalid_file',
  unsupported_model: 'unsupported',
  out_of_memory: 'out_of_memory',
  cancelled: 'cancelled',
  not_found: 'not_found',
  io: 'io',
  non_finite: 'invalid_data',
  internal: 'internal',
};

/** What the operating system refuses for reasons that a person can mend. */
const refusals: Record<string, string> = {
  ENOENT: 'See that it is still there, and try again.',
  EACCES: 'See that this account may use it.',
  EPERM: 'See that this account may use it.',
  EROFS: 'Choose a place that can be written.',
  EISDIR: 'A folder stands where a file is expected.',
  ENOTDIR: 'A file stands where a folder is expected.',
  EIO: 'See that the disk is healthy and connected.',
  EMFILE: 'Close other programs, or raise the limit of open files.',
  ENFILE: 'Close other programs, or raise the limit of open files.',
};

/** Errors of engine and operating system as the wire knows them; undefined for others. */
export function fromEngine(error: unknown): AtelierError | undefined {
  if (isDiskFull(error)) {
    return new AtelierError('disk_full', (error as Error).message, 'Free some space and try again.');
  }
  if (!(error instanceof EngineError)) return fromSystem(error);
  return new AtelierError(codes[error.code], error.message, error.hint);
}

/** A file that cannot be used: its message has the path. Sockets and processes are our own affair. */
function fromSystem(error: unknown): AtelierError | undefined {
  if (!(error instanceof Error)) return undefined;
  const { code, path, message } = error as NodeJS.ErrnoException;
  const hint = path === undefined || code === undefined ? undefined : refusals[code];
  return hint === undefined ? undefined : new AtelierError('io', `${message}.`, hint);
}
