import type { IncomingMessage } from 'node:http';

export interface Refusal {
  status: 403 | 405 | 415 | 421;
  message: string;
}

export interface GateRules {
  port: number;
  /** Whether the Authorization header holds the install's token. */
  hasToken(request: IncomingMessage): boolean;
}

/** What a page must have come from, and the names it may have asked for. No other spelling is accepted. */
function ownNames(port: number): string[] {
  const names = [`127.0.0.1:${port}`, `localhost:${port}`, `[::1]:${port}`];
  return port === 80 ? [...names, '127.0.0.1', 'localhost', '[::1]'] : names;
}

/**
 * The gate, before any body is read and before a socket is upgraded. `access` is `page` for the built page's
 * files, which hold no secret, and `api` for everything else.
 *
 * 1. `Host` is one of our own, exactly: stops DNS rebinding.
 * 2. `Origin`, where there is one, is ours, exactly; `null` is foreign. The api without `Origin` (no browser)
 *    needs the bearer token.
 * 3. A change of state carries `application/json`, which no plain form can send.
 */
export function gate(request: IncomingMessage, access: 'page' | 'api', rules: GateRules): Refusal | null {
  const names = ownNames(rules.port);
  const hosts = headerValues(request, 'host');
  if (hosts.length !== 1 || !names.includes(hosts[0]!)) {
    return { status: 421, message: 'This server does not answer to that name.' };
  }
  const origins = headerValues(request, 'origin');
  if (origins.length > 1 || origins.some((origin) => !names.some((name) => origin === `http://${name}`))) {
    return { status: 403, message: 'Requests from other sites are refused.' };
  }
  if (access === 'page') {
    if (request.method === 'GET' || request.method === 'HEAD') return null;
    return { status: 405, message: 'Only GET.' };
  }
  if (origins.length === 0 && !rules.hasToken(request)) {
    return { status: 403, message: 'A request without Origin needs the token.' };
  }
  if (request.method === 'POST' && !isJson(request.headers['content-type'])) {
    return { status: 415, message: 'Content-Type must be application/json.' };
  }
  return null;
}

/** Node keeps the first of a doubled header; two of them are a trick. */
function headerValues(request: IncomingMessage, name: string): string[] {
  const values: string[] = [];
  for (let k = 0; k < request.rawHeaders.length; k += 2) {
    if (request.rawHeaders[k]!.toLowerCase() === name) values.push(request.rawHeaders[k + 1]!);
  }
  return values;
}

function isJson(contentType: string | undefined): boolean {
  return contentType !== undefined && /^application\/json(\s*;|$)/i.test(contentType);
}
