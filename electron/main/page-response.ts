import { readFile } from 'node:fs/promises';
import { securityHeaders, type PageFile, type PageFiles } from '../page';
import { isOurs } from './origin';

/** Decides one request of the `app:` scheme, as a pure function: a file, or the status that refuses it. */
export function decidePage(files: PageFiles, method: string, url: string): PageFile | 403 | 404 | 405 {
  if (method !== 'GET' && method !== 'HEAD') return 405;
  if (!isOurs(url)) return 403;
  return files.find(new URL(url).pathname) ?? 404;
}

/** The handler of `protocol.handle`. */
export function pageHandler(files: PageFiles): (request: Request) => Promise<Response> {
  return async (request) => {
    const decision = decidePage(files, request.method, request.url);
    if (typeof decision === 'number')
      return new Response(null, { status: decision, headers: securityHeaders });
    const body = request.method === 'HEAD' ? null : new Uint8Array(await readFile(decision.path));
    return new Response(body, { headers: { ...securityHeaders, 'Content-Type': decision.type } });
  };
}
