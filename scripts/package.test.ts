import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { root } from './setup/paths.mjs';

const builder = createRequire(join(root, 'node_modules/electron-builder/package.json'));
const read = (file: string) => readFileSync(join(root, file), 'utf8');

test('electron-builder takes its configuration, for the Electron and the SQLite that are installed', async () => {
  const config = parse(read('electron-builder.yml')) as { electronVersion: string; files: unknown[] };
  const { validateConfiguration } = builder('app-builder-lib/out/util/config/config') as {
    validateConfiguration(config: unknown, debug: { isEnabled: boolean }): Promise<void>;
  };
  await validateConfiguration(config, { isEnabled: false });
  const refused = { ...config, electronVersionn: '1' };
  await expect(validateConfiguration(refused, { isEnabled: false })).rejects.toThrow('electronVersionn');

  const { version } = JSON.parse(read('node_modules/electron/package.json')) as { version: string };
  expect(config.electronVersion).toBe(version);
  expect(config.files).toContainEqual({
    from: `build/electron/${version}/build/Release`,
    to: 'node_modules/better-sqlite3/build/Release',
    filter: 'better_sqlite3.node',
  });
});
