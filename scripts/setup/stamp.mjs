// Whether the outcome of a build is still that of its sources, by their contents.
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { root } from './paths.mjs';

function* filesIn(path) {
  if (!existsSync(path)) return;
  if (!statSync(path).isDirectory()) return yield path;
  for (const name of readdirSync(path).sort()) yield* filesIn(join(path, name));
}

/** @param {string[]} inputs files and folders, relative to the root; tests do not count */
export function fingerprint(inputs) {
  const hash = createHash('sha256');
  for (const input of inputs)
    for (const file of filesIn(join(root, input))) {
      if (/\.(test\.tsx?|md)$/.test(file)) continue;
      hash.update(`${file}\n`).update(readFileSync(file)).update('\n');
    }
  return hash.digest('hex');
}

/** Runs `build` unless `stamp` says that these inputs were built. A build cut short leaves no stamp. */
export async function whenChanged(stamp, inputs, build) {
  const now = fingerprint(inputs);
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === now) return;
  rmSync(stamp, { force: true });
  await build();
  mkdirSync(dirname(stamp), { recursive: true });
  writeFileSync(stamp, now);
}
