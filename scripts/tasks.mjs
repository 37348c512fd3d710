// The tasks: what each needs of the set-up, and how it runs.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { formatAll, gates } from './check/gates.mjs';
import { makePackage } from './package.mjs';
import { runParts } from './parts.mjs';
import { runTask } from './setup/exec.mjs';
import { SetupError } from './setup/log.mjs';
import { root } from './setup/paths.mjs';
import { app, everything } from './setup/set-up.mjs';
import { start } from './start.mjs';

const tests = ['native', 'unit', 'e2e'];
const checks = [...Object.keys(gates), 'native', 'unit'];

/** Names of parts that the command line asks for, else all of `names`; what begins with - is the part's own. */
function chosen(names, rest) {
  const own = rest.findIndex((word) => word.startsWith('-'));
  const words = own < 0 ? rest : rest.slice(0, own);
  for (const word of words)
    if (!names.includes(word))
      throw new SetupError(`There is no part "${word}".`, `One or more of: ${names.join(', ')}`);
  return [words.length > 0 ? words : names, own < 0 ? [] : rest.slice(own)];
}

const node = (file) => ({
  needs: app,
  run: ({ device, rest }) =>
    runTask(process.execPath, [join(root, file), ...rest], { ATELIER_DEVICE: device }),
});

/** A TypeScript program that is no part of the product: run from its source, without the page. */
const source = (file, ...more) => ({
  needs: ['packages', 'native', 'bundles', 'device', ...more],
  run: ({ device, rest }) => {
    if (!existsSync(join(root, file))) throw new SetupError(`${file} is not there.`);
    return runTask(process.execPath, ['--import', 'tsx', join(root, file), ...rest], {
      ATELIER_DEVICE: device,
    });
  },
});

export const tasks = {
  setup: { needs: everything, run: async () => 0 },
  build: { needs: ['packages', 'native', 'native-tests', 'page', 'bundles'], run: async () => 0 },
  start: { needs: app, run: start },
  atelier: node('dist/headless/cli.js'),
  demo: node('dist/headless/demo.js'),
  test: {
    needs: everything,
    run: ({ device, rest }) => {
      const all = rest.includes('--all');
      const names = all ? [...Object.keys(gates), ...tests, 'mac'] : tests;
      return runParts(
        ...chosenFirst(
          names,
          rest.filter((word) => word !== '--all'),
          device,
        ),
      );
    },
  },
  check: {
    needs: everything,
    run: ({ device, rest }) => runParts(...chosenFirst(checks, rest, device)),
  },
  'check:mac': { needs: ['packages'], run: ({ device }) => runParts(['mac'], device) },
  format: { needs: ['packages'], run: () => formatAll().then(() => 0) },
  'test:native': {
    needs: ['packages', 'native-tests'],
    run: ({ device, rest }) => runParts(['native'], device, rest),
  },
  'test:real': source('test/real/main.ts', 'native-tests'),
  'test:peft': source('test/peft/main.ts', 'native-tests'),
  'test:trl': source('test/trl/main.ts'),
  conformance: source('conformance/run.ts', 'native-tests'),
  bench: source('bench/run.ts'),
  learn: source('bench/learn/main.ts'),
  'gpu-proof': source('test/gpu/main.ts', 'native-tests'),
  'make-model': source('resources/recipe/main.ts'),
  package: { needs: app, run: makePackage },
};

function chosenFirst(names, rest, device) {
  const [parts, own] = chosen(names, rest);
  return [parts, device, own];
}
