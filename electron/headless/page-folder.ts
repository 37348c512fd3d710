import { join } from 'node:path';
import { appRoot } from '../backend/system';

/** Where the built page lies: dist/renderer, seen from the sources or from dist. */
export function pageFolder(): string {
  return join(appRoot(), 'dist', 'renderer');
}
