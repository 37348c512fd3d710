import { realpathSync, statSync } from 'node:fs';
import { extname, join, sep } from 'node:path';
import { isOurs } from './origin';

export interface PageResponse {
  status: 200 | 400 | 403 | 404 | 405;
  /** Real path of the file to send; only with status 200. */
  path?: string;
  headers: Record<string, string>;
}

/** The types of the files that a built page consists of; anything else is not served. */
const types: Record<string, string> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.json': 'application/json',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.woff2': 'font/woff2',
};

/**
 * Answers one request of the `app:` scheme: `(method, url) -> { status, path, headers }`, without sending it.
 *
 * The URL is decoded once, resolved to a real path (links followed) and must lie under `root` + separator.
 * A path without an extension is a route of the page and gets index.html.
 */
export function resolvePageFile(
  root: string,
  method: string,
  url: string,
  pageHeaders: Record<string, string>,
): PageResponse {
  const refuse = (status: PageResponse['status']): PageResponse => ({
    status,
    headers: { ...pageHeaders, 'Content-Type': 'text/plain; charset=utf-8' },
  });
  if (method !== 'GET' && method !== 'HEAD') return refuse(405);
  if (!isOurs(url)) return refuse(403);
  let path: string;
  try {
    path = decodeURIComponent(new URL(url).pathname);
  } catch {
    return refuse(400);
  }
  // A second encoding, a backslash or a NUL has no business in the name of a built file.
  if (/[\\\0%]/.test(path) || path.startsWith('//') || path.split('/').includes('..')) return refuse(400);
  const name = extname(path) === '' ? 'index.html' : path.slice(1);
  const type = types[extname(name)];
  if (type === undefined) return refuse(404);
  let real: string;
  try {
    real = realpathSync(join(root, name));
    if (!real.startsWith(realpathSync(root) + sep)) return refuse(403);
    if (!statSync(real).isFile()) return refuse(404);
  } catch {
    return refuse(404);
  }
  return { status: 200, path: real, headers: { ...pageHeaders, 'Content-Type': type } };
}
