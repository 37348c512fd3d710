import { readdirSync, statSync } from 'node:fs';
import { extname, join, relative, sep } from 'node:path';

const types: Record<string, string> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.json': 'application/json',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.woff2': 'font/woff2',
};

export interface PageFile {
  path: string;
  type: string;
  /** Its name holds a hash of its contents, so it never changes. */
  immutable: boolean;
}

/**
 * The built page's files. Only names found in the folder at start are served: a request is looked up, never
 * joined to a path, so no spelling of a URL reaches anything else. A path without an extension is a route of
 * the page and gets index.html.
 */
export class PageFiles {
  readonly #files = new Map<string, PageFile>();

  constructor(folder: string) {
    let entries: string[] = [];
    try {
      entries = readdirSync(folder, { recursive: true }) as string[];
    } catch {
      // not built: every request says so
    }
    for (const entry of entries) {
      const path = join(folder, entry);
      const type = types[extname(entry)];
      if (type === undefined || !statSync(path).isFile()) continue;
      const name = `/${relative(folder, path).split(sep).join('/')}`;
      this.#files.set(name, { path, type, immutable: name.startsWith('/assets/') });
    }
  }

  /** By a URL's path, query and fragment left off; null where there is no such file. */
  find(urlPath: string): PageFile | null {
    const name = extname(urlPath) === '' ? '/index.html' : urlPath;
    return this.#files.get(name) ?? null;
  }

  get built(): boolean {
    return this.#files.has('/index.html');
  }
}
