// What is made of the TypeScript: the page (vite) and the bundles that Node and Electron run (rolldown).
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './paths.mjs';
import { run } from './exec.mjs';
import { step } from './log.mjs';
import { whenChanged } from './stamp.mjs';

const shared = ['shared', 'package.json', 'package-lock.json', 'tsconfig.base.json'];
const bin = (path) => join(root, 'node_modules', path);

export function buildPage() {
  return whenChanged(join(root, 'build', 'page.stamp'), ['renderer', 'vite.config.ts', ...shared], () =>
    step('building the page', () =>
      run(process.execPath, [bin('vite/bin/vite.js'), 'build', '--logLevel', 'warn']),
    ),
  );
}

export function buildBundles() {
  const engine = readdirSync(join(root, 'native')).filter((name) => name.endsWith('.ts'));
  const sources = [
    'electron',
    ...engine.map((name) => `native/${name}`),
    'rolldown.config.mjs',
    'tsconfig.json',
  ];
  return whenChanged(join(root, 'build', 'bundles.stamp'), [...sources, ...shared], () =>
    step('bundling backend and hosts', () =>
      run(process.execPath, [bin('rolldown/bin/cli.mjs'), '--config', 'rolldown.config.mjs'], {
        quiet: true,
      }),
    ),
  );
}
