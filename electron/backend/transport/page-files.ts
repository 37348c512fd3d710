import { createReadStream } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { securityHeaders, type PageFiles } from '../../page';

/** Answers a GET or HEAD with a file of the built page. */
export function answerPage(files: PageFiles, request: IncomingMessage, response: ServerResponse): void {
  const file = files.find((request.url ?? '/').split(/[?#]/, 1)[0]!);
  if (file === null) {
    const missing = files.built ? 'Not found.' : 'The page is not built: npm run build.';
    response.writeHead(404, { ...securityHeaders, 'Content-Type': 'text/plain; charset=utf-8' });
    response.end(missing);
    return;
  }
  response.writeHead(200, {
    ...securityHeaders,
    'Content-Type': file.type,
    'Cache-Control': file.immutable ? 'public, max-age=31536000, immutable' : 'no-store',
  });
  if (request.method === 'HEAD') {
    response.end();
    return;
  }
  createReadStream(file.path)
    .on('error', () => response.destroy())
    .pipe(response);
}
