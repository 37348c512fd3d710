// Bundles what Node and Electron run: one entry a process or thread, each one folder deep in dist/.
import { copyFileSync, mkdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

/** name of the bundle -> its entry */
const entries = {
  'headless/cli': 'electron/headless/cli.ts',
  'headless/demo': 'electron/headless/demo.ts',
  'backend/entry': 'electron/backend/entry.ts',
  'backend/template-worker': 'electron/backend/text/template/template-worker.ts',
  'backend/reward-host': 'electron/backend/rewards/host/reward-host.ts',
  'backend/reward-worker': 'electron/backend/rewards/host/reward-worker.ts',
  'main/index': 'electron/main/index.ts',
};
/** A sandboxed preload is one CommonJS file. */
const preload = { 'preload/index': 'electron/preload/index.ts' };

/** Native modules cannot be bundled. */
const external = ['electron', 'better-sqlite3', 'tokenizers'];

/** QuickJS looks for its WebAssembly beside the script that holds it: an entry or a shared chunk. */
const quickjsWasm = {
  name: 'quickjs-wasm',
  writeBundle({ dir }) {
    const require = createRequire(import.meta.url);
    const wasm = join(dirname(require.resolve('@jitl/quickjs-wasmfile-release-sync')), 'emscripten-module.wasm');
    for (const folder of ['backend', 'chunks']) {
      mkdirSync(join(dir, folder), { recursive: true });
      copyFileSync(wasm, join(dir, folder, 'emscripten-module.wasm'));
    }
  },
};

const common = { external, platform: 'node', tsconfig: 'tsconfig.json' };

export default [
  {
    ...common,
    input: entries,
    plugins: [quickjsWasm],
    output: {
      dir: 'dist',
      format: 'esm',
      sourcemap: true,
      entryFileNames: '[name].js',
      chunkFileNames: 'chunks/[name]-[hash].js',
    },
  },
  { ...common, input: preload, output: { dir: 'dist', format: 'cjs', sourcemap: true, entryFileNames: '[name].cjs' } },
];
