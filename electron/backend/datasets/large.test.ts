import { createWriteStream, mkdtempSync, rmSync } from 'node:fs';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { Roots } from '../places';
import { DatasetRegistry } from './registry';

const base = mkdtempSync(join(tmpdir(), 'atelier-large-'));
afterAll(() => rmSync(base, { recursive: true, force: true }));

test('a large file is used before all of it has been read, and any page comes at once after that', async () => {
  const path = join(base, 'large.jsonl');
  const rows = Array.from({ length: 2000 }, (_, k) => JSON.stringify({ prompt: `${k} ${'x'.repeat(500)}` }));
  const block = `${rows.join('\n')}\n`;
  const blocks = 300;
  const out = createWriteStream(path);
  for (let k = 0; k < blocks; k++) if (!out.write(block)) await once(out, 'drain');
  out.end();
  await once(out, 'finish');
  const roots = new Roots(null);
  const registry = new DatasetRegistry({ home: join(base, 'home'), bundled: join(base, 'none'), roots });
  const before = process.memoryUsage().rss;
  const { id, indexing, rows: soFar } = await registry.add({ path });
  expect(indexing).toBeLessThan(1);
  expect(soFar).toBeLessThan(2000 * blocks);
  expect((await registry.rows({ id, offset: 0, limit: 2 })).rows).toHaveLength(2);
  expect((await registry.whole(id)).rows).toBe(2000 * blocks);
  const last = await registry.rows({ id, offset: 2000 * blocks - 1, limit: 5 });
  expect(last.rows.map(({ line }) => line)).toEqual([2000 * blocks]);
  expect((await registry.get(id)).indexing).toBeNull();
  expect(process.memoryUsage().rss - before).toBeLessThan(250 << 20);
});
