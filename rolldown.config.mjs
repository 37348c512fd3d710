// Bundles what Node and Electron run, each one folder deep in dist/. Packages go in; native modules cannot.
import { copyFileSync, existsSync, mkdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

/** name of the bundle -> its entry */
const entries = {
  'headless/cli': 'electron/headless/cli.ts',
  'headless/demo': 'electron/headless/demo.ts',
  'main/index': 'electron/main/index.ts',
};
/** Threads and processes that the ones above start: each whole in one file (electron/supervise/entry-file.ts). */
const sideEntries = {
  'backend/utility': 'electron/backend/entry/utility.ts',
  'backend/template-host': 'electron/backend/text/template/template-host.ts',
  'backend/reward-host': 'electron/backend/rewards/host/reward-host.ts',
  'backend/reward-worker': 'electron/backend/rewards/host/reward-worker.ts',
  'backend/type-check': 'electron/backend/algorithms/type-check-worker.ts',
  'backend/algorithm-kit': 'electron/backend/rewards/host/algorithm-kit.ts',
  'backend/verify': 'electron/backend/runs/verify-entry.ts',
  'backend/rank': 'electron/backend/system/rank-entry.ts',
  'headless/web-child': 'electron/headless/web-child.ts',
};
/** A sandboxed preload is one CommonJS file. */
const preload = { 'preload/index': 'electron/preload/index.ts' };

/** QuickJS looks for its WebAssembly beside the script that holds it. */
const quickjsWasm = {
  name: 'quickjs-wasm',
  writeBundle({ dir }) {
    const require = createRequire(import.meta.url);
    const wasm = join(
      dirname(require.resolve('@jitl/quickjs-wasmfile-release-sync')),
      'emscripten-module.wasm',
    );
    mkdirSync(join(dir, 'backend'), { recursive: true });
    copyFileSync(wasm, join(dir, 'backend', 'emscripten-module.wasm'));
  },
};

const bundle = (input, output, plugins = []) => ({
  input,
  plugins,
  // ts-blank-space loads typescript: inlined, it would do so at the start and not when first needed
  external: ['electron', 'better-sqlite3', 'tokenizers', 'typescript', 'ts-blank-space'],
  platform: 'node',
  tsconfig: 'tsconfig.json',
  output: { dir: 'dist', sourcemap: true, ...output },
});

const one = (table) =>
  Object.entries(table)
    .filter(([, file]) => existsSync(file))
    .map(([name, file]) => ({ [name]: file }));

export default [
  bundle(Object.assign({}, ...one(entries)), {
    format: 'esm',
    entryFileNames: '[name].js',
    chunkFileNames: 'chunks/[name]-[hash].js',
  }),
  ...one(sideEntries).map((entry) =>
    bundle(entry, { format: 'esm', entryFileNames: '[name].js', codeSplitting: false }, [quickjsWasm]),
  ),
  ...one(preload).map((entry) =>
    bundle(entry, { format: 'cjs', entryFileNames: '[name].cjs', codeSplitting: false }),
  ),
].filter(({ input }) => Object.keys(input).length > 0);
