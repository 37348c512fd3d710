// Bundles what Node and Electron run: one entry a process. Packages stay outside, in node_modules.
import { existsSync } from 'node:fs';
import { isAbsolute } from 'node:path';

/** name of the bundle -> its entry */
export const entries = {
  'headless/cli': 'electron/headless/cli.ts',
  'headless/demo': 'electron/headless/demo.ts',
  'backend/entry': 'electron/backend/entry.ts',
  'main/index': 'electron/main/index.ts',
};
/** A sandboxed preload is CommonJS. */
export const preloadEntries = { 'preload/index': 'electron/preload/index.ts' };

const present = (table) => Object.fromEntries(Object.entries(table).filter(([, file]) => existsSync(file)));
const external = (id) => !id.startsWith('.') && !isAbsolute(id);
const bundle = (input, output) => ({
  input: present(input),
  external,
  platform: 'node',
  tsconfig: 'tsconfig.json',
  output: { dir: 'dist', sourcemap: true, ...output },
});

export default [
  bundle(entries, { format: 'esm', entryFileNames: '[name].js', chunkFileNames: 'chunks/[name]-[hash].js' }),
  bundle(preloadEntries, { format: 'cjs', entryFileNames: '[name].cjs' }),
].filter(({ input }) => Object.keys(input).length > 0);
