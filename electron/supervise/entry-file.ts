import { fileURLToPath } from 'node:url';

/** Threads and processes beside the main ones, and what the sandbox loads; bundled by rolldown.config.mjs under these names. */
export type EntryName =
  | 'backend/template-host'
  | 'backend/reward-host'
  | 'backend/reward-worker'
  | 'backend/algorithm-kit'
  | 'backend/type-check'
  | 'backend/verify'
  | 'backend/rank'
  | 'headless/web-child';

/**
 * Path of an entry's bundle. A bundle lies one folder deep in dist, whichever chunk asks; run from source
 * (tsx, vitest) the bundles are those of dist too.
 */
export function entryFile(name: EntryName): string {
  const dist = import.meta.url.endsWith('.ts') ? '../../dist/' : '../';
  return fileURLToPath(new URL(`${dist}${name}.js`, import.meta.url));
}
