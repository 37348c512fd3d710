import { AtelierError } from '../../../shared/rpc/errors';

/** Any thrown thing as what an error state shows. */
export function asFailure(error: unknown): {
  message: string;
  code: string;
  hint?: string;
  details?: unknown;
} {
  if (error instanceof AtelierError) {
    return {
      message: error.message,
      code: error.code,
      ...(error.hint === undefined ? {} : { hint: error.hint }),
      ...(error.details === undefined ? {} : { details: error.details }),
    };
  }
  return { message: error instanceof Error ? error.message : String(error), code: 'internal' };
}

/** Path of the field that a refused request names, "params.groupSize"; undefined for other errors. */
export function fieldOf(error: unknown): string | undefined {
  if (!(error instanceof AtelierError) || error.code !== 'invalid_input') return undefined;
  const path = error.details?.['path'];
  return typeof path === 'string' ? path : undefined;
}
