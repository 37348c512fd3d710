// Vitest's global set-up: the threads and processes that tests start are bundles, made from today's sources.
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { rolldown, type InputOptions, type OutputOptions } from 'rolldown';
import bundles, { sideEntries } from '../../rolldown.config.mjs';

type Bundle = InputOptions & { input: Record<string, string>; output: OutputOptions };

export default async function bundleEntries(): Promise<void> {
  for (const { output: options, plugins: _, ...input } of bundles as Bundle[]) {
    const name = Object.keys(input.input)[0];
    if (name === undefined || !(name in sideEntries)) continue;
    const bundle = await rolldown(input);
    const { output } = await bundle.generate({ ...options, sourcemap: 'inline' });
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
