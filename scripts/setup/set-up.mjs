import { join } from 'node:path';
import { withLock } from './lock.mjs';
import { checkPrerequisites } from './prerequisites.mjs';
import { buildBundles, buildPage } from './bundles.mjs';
import { cudaRunLibraries } from './cuda.mjs';
import { buildNative } from './native.mjs';
import { buildDir } from './paths.mjs';
import { buildSqlite, installPackages } from './packages.mjs';
import { dropPartialUnpackings } from './wheels.mjs';

/**
 * @typedef {'packages' | 'native' | 'native-tests' | 'page' | 'bundles' | 'device'} Need `native`: the addon;
 * `device`: what running on it takes
 */

/** What the app takes. @type {Need[]} */
export const app = ['packages', 'native', 'page', 'bundles', 'device'];
/** @type {Need[]} */
export const everything = [...app, 'native-tests'];

/**
 * Does what is missing of `needs` for a device; safe to repeat and to interrupt at any place.
 * @param {Need[]} needs
 */
export async function setUp(device, needs) {
  if (needs.length === 0) return;
  const tools = checkPrerequisites();
  await withLock(async () => {
    dropPartialUnpackings();
    await installPackages();
    // SQLite is one long compilation on one core; the engine takes the others.
    const jobs = [buildSqlite()];
    const tests = needs.includes('native-tests');
    if (tests || needs.includes('native')) jobs.push(buildNative(device, tools, { tests }));
    if (needs.includes('page')) jobs.push(buildPage());
    if (needs.includes('bundles')) jobs.push(buildBundles());
    const failed = (await Promise.allSettled(jobs)).filter(({ status }) => status === 'rejected');
    if (failed.length > 0) throw failed[0].reason;
    if (device === 'cuda' && needs.includes('device'))
      await cudaRunLibraries(join(buildDir(device), 'addon'));
  });
}
