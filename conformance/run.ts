/** `npm run conformance [-- --fixtures DIR]`: what every file of the fixtures came out as. */
import { existsSync, readdirSync } from 'node:fs';
import { join, relative, resolve, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import type { Device } from '../native';
import { Context } from './context';
import { ITEMS } from './items';
import manifest from './manifest.json' with { type: 'json' };
import { count, format, summary, type Line } from './report';

const { values } = parseArgs({
  options: {
    fixtures: { type: 'string' },
    device: { type: 'string', default: process.env.ATELIER_DEVICE ?? 'cpu' },
    /** Only these items, for work on one of them. */
    item: { type: 'string', multiple: true },
    json: { type: 'boolean', default: false },
  },
});

const root = values.fixtures ? resolve(values.fixtures) : fileURLToPath(new URL('fixtures', import.meta.url));
if (!existsSync(root)) {
  console.error(`There is no folder ${root}. Give one with --fixtures DIR.`);
  process.exit(2);
}
const device = values.device as Device;
if (!['cpu', 'cuda', 'metal'].includes(device)) {
  console.error(`--device ${device}: choose cpu, cuda or metal.`);
  process.exit(2);
}

const present = readdirSync(root, { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile())
  .map((entry) => relative(root, join(entry.parentPath, entry.name)).split(sep).join('/'))
  .filter((path) => path !== 'README.md')
  .sort();
const chosen = (name: string) => !values.item || values.item.includes(name);
const owner = (path: string) => ITEMS.find((item) => item.owns(path));

const lines: Line[] = [];
const add = (line: Line) => {
  lines.push(line);
  if (!values.json) console.log(format(line));
};

const ctx = new Context(root, device);
for (const item of ITEMS.filter((i) => chosen(i.name))) {
  const paths = present.filter((path) => owner(path) === item);
  const made = paths.length > 0 ? await item.run(ctx, paths) : [];
  for (const line of made) add({ item: item.name, ...line });
  const answered = new Set(made.map((line) => line.path));
  for (const path of paths.filter((p) => !answered.has(p)))
    add({ path, item: item.name, status: 'fail', detail: 'its item gave no result' });
}
if (!values.item) {
  for (const path of present.filter((p) => !owner(p)))
    add({ path, status: 'fail', detail: 'no item reads it' });
  const there = new Set(present);
  for (const path of (manifest as string[]).filter((p) => !there.has(p)))
    add({ path, item: owner(path)?.name ?? 'none', status: 'absent', detail: 'not in the folder' });
}
await ctx.close();
console.log(
  values.json ? JSON.stringify({ device, lines, summary: summary(lines) }, null, 1) : summary(lines),
);
// Workers of the template renderer would keep the process.
process.exit(count(lines, 'fail') > 0 ? 1 : 0);
