import { createHash, timingSafeEqual } from 'node:crypto';
import { chmodSync, readFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { makeDataFolder, writePrivate } from '../store';
import { takeLeftCode } from './left-codes';
import { makeSecret } from './secret';

/** The install's token: made once, kept readable by its owner alone, so that a restarted backend knows it. */
export function installToken(home: string): string {
  makeDataFolder(home);
  const file = join(home, 'token');
  try {
    const token = readFileSync(file, 'utf8').trim();
    if (/^[\w-]{43}$/.test(token)) {
      chmodSync(file, 0o600);
      return token;
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
  const token = makeSecret();
  writePrivate(file, token);
  return token;
}

/** Who may come in: the token's holder, and once each the holder of a one-time code, given here or left in the folder. */
export class Access {
  readonly #token: string;
  readonly #codes = new Set<string>();

  constructor(
    private readonly home: string,
    private readonly onCodeUsed: () => void = () => undefined,
  ) {
    this.#token = installToken(home);
  }

  /** A code is exchanged for the token once; it travels in the URL's fragment, which no server sees. */
  allowCode(code: string): void {
    this.#codes.add(code);
  }

  exchange(code: unknown): string | null {
    if (typeof code !== 'string') return null;
    const found = [...this.#codes].find((known) => equal(known, code));
    if (found === undefined) return takeLeftCode(this.home, code) ? this.#token : null;
    this.#codes.delete(found);
    this.onCodeUsed();
    return this.#token;
  }

  isToken(value: unknown): boolean {
    return typeof value === 'string' && equal(this.#token, value);
  }

  hasToken(request: IncomingMessage): boolean {
    const match = /^Bearer ([\w-]+)$/.exec(request.headers.authorization ?? '');
    return match !== null && this.isToken(match[1]);
  }
}

/** In constant time, whatever the lengths. */
function equal(a: string, b: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(a), digest(b));
}
