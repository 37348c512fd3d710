import { randomBytes } from 'node:crypto';

/** 256 bits, safe in a URL. */
export function makeSecret(): string {
  return randomBytes(32).toString('base64url');
}
