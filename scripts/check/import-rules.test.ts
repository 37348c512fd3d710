import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import config from '../../.dependency-cruiser.mjs';

/** rule -> [the file that breaks it, the import it must not have] */
const violations: Record<string, [from: string, to: string]> = {
  'no-circles': ['shared/circle/a.ts', '../circle/b'],
  'not-resolvable': ['shared/lost/a.ts', './nowhere'],
  'shared-imports-only-shared-and-zod': ['shared/contract/a.ts', 'somewhere-else'],
  'shared-codec-adds-msgpack': ['shared/rpc/codec.ts', 'somewhere-else'],
  'shared-program-rpc-schedules-imports-upwards': ['shared/schedules/a.ts', '../algorithms/target'],
  'shared-algorithms-imports-upwards': ['shared/algorithms/a.ts', '../contract/target'],
  'shared-program-stands-alone': ['shared/program/a.ts', '../rpc/target'],
  'shared-rpc-stands-alone': ['shared/rpc/a.ts', '../program/target'],
  'renderer-imports-only-shared': ['renderer/src/app/a.ts', '../../../electron/supervise/target'],
  'renderer-uses-no-node': ['renderer/src/app/b.ts', 'node:fs'],
  'renderer-styles-imports-upwards': ['renderer/src/styles/a.ts', '../components/target'],
  'renderer-components-imports-upwards': ['renderer/src/components/a.ts', '../screens/home/target'],
  'renderer-screens-imports-upwards': ['renderer/src/screens/home/a.ts', '../../app/target'],
  'renderer-components-not-data': ['renderer/src/components/b.ts', '../data/target'],
  'renderer-data-not-view': ['renderer/src/data/a.ts', '../components/target'],
  'renderer-screen-not-screen': ['renderer/src/screens/chat/a.ts', '../home/target'],
  'only-renderer-data-touches-the-client': ['renderer/src/app/c.ts', '../../../shared/rpc/target'],
  'backend-text-datasets-rewards-models-places-system-store-imports-upwards': [
    'electron/backend/text/a.ts',
    '../train/index',
  ],
  'backend-train-chat-agent-serve-imports-upwards': ['electron/backend/chat/a.ts', '../runs/index'],
  'backend-runs-imports-upwards': ['electron/backend/runs/a.ts', '../transport/index'],
  'backend-transport-imports-upwards': ['electron/backend/transport/a.ts', '../entry'],
  'backend-feature-only-by-its-index': ['electron/backend/train/a.ts', '../text/target'],
  'backend-not-hosts': ['electron/backend/system/a.ts', '../../headless/target'],
  'main-relays-nothing': ['electron/main/a.ts', '../backend/entry'],
  'supervise-stands-alone': ['electron/supervise/a.ts', '../main/target'],
  'electron-not-renderer': ['electron/headless/a.ts', '../../renderer/src/data/target'],
  'only-main-and-preload-import-electron': ['electron/headless/b.ts', 'electron'],
  'only-native-index-loads-the-addon': ['electron/backend/models/a.ts', '../../../build/addon.node'],
  'native-only-by-its-face': ['electron/backend/models/b.ts', '../../../native/target'],
  'engine-only-for-the-backend': ['electron/headless/c.ts', '../../native/index'],
  'native-imports-nobody': ['native/a.ts', '../electron/supervise/target'],
  'product-not-tests': ['electron/backend/store/a.ts', '../../testing/target'],
  'product-needs-no-dev-dependency': ['electron/backend/store/b.ts', 'a-dev-tool'],
};

/** Files that the violations reach, and imports that are allowed. */
const allowed: Record<string, string> = {
  'shared/circle/b.ts': "import '../circle/a';",
  'shared/rpc/target.ts': "import 'zod';",
  'shared/program/target.ts': '',
  'shared/algorithms/target.ts': "import '../program/target';",
  'shared/contract/target.ts': "import '../algorithms/target';\nimport '../rpc/target';",
  'renderer/src/styles/target.ts': '',
  'renderer/src/components/target.ts': "import '../styles/target';",
  'renderer/src/data/target.ts':
    "import '../../../shared/rpc/target';\nimport '../../../shared/contract/target';",
  'renderer/src/screens/home/target.ts': "import '../../data/target';\nimport '../../components/target';",
  'renderer/src/app/target.ts': "import '../screens/home/target';\nimport '../data/target';",
  'electron/supervise/target.ts': "import '../../shared/rpc/target';",
  'electron/backend/text/target.ts': '',
  'electron/backend/text/index.ts': "import './target';",
  'electron/backend/train/index.ts': "import '../text/index';\nimport '../../../native/index';",
  'electron/backend/runs/index.ts': "import '../train/index';",
  'electron/backend/transport/index.ts': "import '../runs/index';",
  'electron/backend/entry.ts': "import './transport/index';\nimport '../supervise/target';",
  'electron/main/target.ts': "import 'electron';\nimport '../supervise/target';",
  'electron/headless/target.ts': "import '../backend/entry';\nimport '../supervise/target';",
  'electron/testing/target.ts': '',
  'electron/testing/uses.test.ts': "import '../backend/text/target';\nimport 'a-dev-tool';",
  'native/index.ts': "import './face';",
  'native/face.ts': '',
  'native/target.ts': '',
  'build/addon.node': '',
  'tsconfig.json': '{}',
  'package.json': JSON.stringify({
    dependencies: { zod: '*', 'somewhere-else': '*' },
    devDependencies: { electron: '*', 'a-dev-tool': '*' },
  }),
};

const tree = mkdtempSync(join(tmpdir(), 'atelier-import-rules-'));
afterAll(() => rmSync(tree, { recursive: true, force: true }));

function write(file: string, text: string) {
  mkdirSync(dirname(join(tree, file)), { recursive: true });
  writeFileSync(join(tree, file), text);
}

/** Violations found in the planted tree, as [rule, file]. */
function cruise(): [string, string][] {
  const root = join(import.meta.dirname, '../..');
  const args = [
    '--config',
    join(root, '.dependency-cruiser.mjs'),
    '--output-type',
    'json',
    'shared',
    'renderer',
    'electron',
    'native',
  ];
  const json = (() => {
    try {
      const bin = join(root, 'node_modules/dependency-cruiser/bin/dependency-cruise.mjs');
      return execFileSync(process.execPath, [bin, ...args], {
        cwd: tree,
        encoding: 'utf8',
        maxBuffer: 1 << 26,
      });
    } catch (error) {
      return (error as { stdout: string }).stdout;
    }
  })();
  const { summary } = JSON.parse(json) as {
    summary: { violations: { rule: { name: string }; from: string }[] };
  };
  return summary.violations.map(({ rule, from }) => [rule.name, from]);
}

let found: [string, string][];
beforeAll(() => {
  for (const name of ['zod', 'electron', 'somewhere-else', 'a-dev-tool']) {
    write(`node_modules/${name}/package.json`, JSON.stringify({ name, version: '1.0.0', main: 'index.js' }));
    write(`node_modules/${name}/index.js`, 'module.exports = {};');
  }
  for (const [file, text] of Object.entries(allowed)) write(file, text);
  for (const [file, target] of Object.values(violations)) write(file, `import '${target}';`);
  found = cruise();
});

test('every rule has its planted violation', () => {
  expect(config.forbidden.map(({ name }) => name).sort()).toEqual(Object.keys(violations).sort());
});

test.each(Object.entries(violations))('%s', (rule, [file]) => {
  expect(found).toContainEqual([rule, file]);
});

test('what is allowed breaks no rule', () => {
  const planted = Object.keys(allowed).filter((file) => file !== 'shared/circle/b.ts');
  expect(found.filter(([, file]) => planted.includes(file))).toEqual([]);
});
