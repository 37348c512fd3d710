import { readdirSync } from 'node:fs';
import { join, relative, sep } from 'node:path';
import type { Device } from '../native';
import { Context } from './context';
import { ITEMS } from './items';
import manifest from './manifest.json' with { type: 'json' };
import type { Line } from './report';

/**
 * A line for each file in `root` and for each of the whole set that is not there.
 * @param only names of items to run; then no file is told as absent or unread
 */
export async function conform(
  root: string,
  device: Device,
  { only, onLine }: { only?: string[]; onLine?: (line: Line) => void } = {},
): Promise<Line[]> {
  const lines: Line[] = [];
  const add = (line: Line) => {
    lines.push(line);
    onLine?.(line);
  };
  const present = readdirSync(root, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(root, join(entry.parentPath, entry.name)).split(sep).join('/'))
    .filter((path) => path !== 'README.md')
    .sort();
  const owner = (path: string) => ITEMS.find((item) => item.owns(path));

  const ctx = new Context(root, device);
  try {
    for (const item of ITEMS.filter((i) => !only || only.includes(i.name))) {
      const paths = present.filter((path) => owner(path) === item);
      const made = paths.length > 0 ? await item.run(ctx, paths) : [];
      for (const line of made) add({ item: item.name, ...line });
      const answered = new Set(made.map((line) => line.path));
      for (const path of paths.filter((p) => !answered.has(p)))
        add({ path, item: item.name, status: 'fail', detail: 'its item gave no result' });
    }
  } finally {
    await ctx.close();
  }
  if (only) return lines;
  for (const path of present.filter((p) => !owner(p)))
    add({ path, status: 'fail', detail: 'no item reads it' });
  const there = new Set(present);
  for (const path of (manifest as string[]).filter((p) => !there.has(p)))
    add({ path, item: owner(path)?.name ?? 'none', status: 'absent', detail: 'not in the folder' });
  return lines;
}
