import { readdirSync } from 'node:fs';
import { join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, expect, it } from 'vitest';
import { Context } from './context';
import { lora } from './items/lora';
import { models } from './items/models';
import { rewardModels } from './items/reward-models';
import { train } from './items/train';

const root = fileURLToPath(new URL('fixtures', import.meta.url));
const files = readdirSync(root, { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile())
  .map((entry) => relative(root, join(entry.parentPath, entry.name)).split(sep).join('/'));
const ctx = new Context(root, 'cpu');
afterAll(() => ctx.close());

it.each([models, lora, rewardModels, train])('the engine agrees with the fixtures: $name', async (item) => {
  const owned = files.filter((path) => item.owns(path));
  const lines = await item.run(ctx, owned);
  expect(lines.filter((line) => line.status === 'fail')).toEqual([]);
  expect(lines.filter((line) => line.status === 'pass').length).toBeGreaterThan(10);
});
