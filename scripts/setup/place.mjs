import { copyFileSync, existsSync, linkSync, mkdirSync, readdirSync, rmSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** Puts a file at `to` without doubling its space where the file system allows; leaves an equal one alone. */
function place(from, to) {
  const source = statSync(from);
  if (existsSync(to)) {
    const there = statSync(to);
    if (there.ino === source.ino || (there.size === source.size && there.mtimeMs >= source.mtimeMs)) return;
    rmSync(to);
  }
  mkdirSync(dirname(to), { recursive: true });
  try {
    linkSync(from, to);
  } catch {
    copyFileSync(from, to);
  }
}

/** Places every file under `from` whose name is wanted, at the same path under `to`. */
export function placeTree(from, to, wanted = () => true) {
  for (const name of readdirSync(from)) {
    const path = join(from, name);
    if (statSync(path).isDirectory()) placeTree(path, join(to, name), wanted);
    else if (wanted(name)) place(path, join(to, name));
  }
}
