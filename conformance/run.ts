/** `npm run conformance [-- --fixtures DIR]`: what every file of the fixtures came out as. */
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import type { Device } from '../native';
import { conform } from './conform';
import { ITEMS } from './items';
import { count, format, summary } from './report';

const { values } = parseArgs({
  options: {
    fixtures: { type: 'string' },
    device: { type: 'string', default: process.env.ATELIER_DEVICE ?? 'cpu' },
    /** Only these items, for work on one of them. */
    item: { type: 'string', multiple: true },
    json: { type: 'boolean', default: false },
  },
});

function refuse(message: string): never {
  console.error(message);
  process.exit(2);
}

const root = values.fixtures ? resolve(values.fixtures) : fileURLToPath(new URL('fixtures', import.meta.url));
if (!existsSync(root)) refuse(`There is no folder ${root}. Give one with --fixtures DIR.`);
if (!['cpu', 'cuda', 'metal'].includes(values.device))
  refuse(`--device ${values.device}: choose cpu, cuda or metal.`);
const unknown = values.item?.find((name) => !ITEMS.some((item) => item.name === name));
if (unknown) refuse(`--item ${unknown}: choose of ${ITEMS.map((item) => item.name).join(', ')}.`);

const device = values.device as Device;
const lines = await conform(root, device, {
  ...(values.item && { only: values.item }),
  onLine: (line) => {
    if (!values.json) console.log(format(line));
  },
});
const passed = summary(lines);
console.log(values.json ? JSON.stringify({ device, lines, summary: passed }, null, 1) : passed);
// Workers of the template renderer would keep the process.
process.exit(count(lines, 'fail') > 0 ? 1 : 0);
