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

/** The engine's errors, a full disk included, as the wire knows them; undefined for others. */
export function fromEngine(error: unknown): AtelierError | undefined {
  if (isDiskFull(error)) {
    return new AtelierError('disk_full', (error as Error).message, 'Free some space and try again.');
  }
  if (!(error instanceof EngineError)) return undefined;
  return new AtelierError(codes[error.code], error.message, error.hint);
}
