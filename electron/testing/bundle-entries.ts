// Vitest's global set-up: the threads and processes that tests start are bundles, made from today's sources.
import { existsSync } from 'node:fs';
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { rolldown } from 'rolldown';
import config from '../../rolldown.config.mjs';
import { sideEntries } from '../supervise/entry-file';

export default async function bundleEntries(): Promise<void> {
  const { external, platform, tsconfig, input } = config[0]! as {
    external: string[];
    platform: 'node';
    tsconfig: string;
    input: Record<string, string>;
  };
  for (const name of sideEntries) {
    const source = input[name]!;
    if (!existsSync(source)) continue;
    const bundle = await rolldown({ input: source, external, platform, tsconfig });
    const { output } = await bundle.generate({ format: 'esm', sourcemap: 'inline', codeSplitting: false });
    await bundle.close();
    await replace(join('dist', `${name}.js`), output[0].code);
  }
  const quickjs = createRequire(import.meta.url).resolve('@jitl/quickjs-wasmfile-release-sync');
  const wasm = 'emscripten-module.wasm';
  await replace(join('dist/backend', wasm), await readFile(join(dirname(quickjs), wasm)));
}

/** Whole or not at all: another test run may be starting from the file now. */
async function replace(path: string, content: string | Buffer): Promise<void> {
  const old = await readFile(path).catch(() => null);
  if (old && Buffer.compare(old, Buffer.from(content)) === 0) return;
  await mkdir(dirname(path), { recursive: true });
  const temporary = `${path}.${process.pid}`;
  await writeFile(temporary, content);
  await rename(temporary, path);
}
