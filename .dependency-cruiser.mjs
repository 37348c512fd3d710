// Who may import whom (architecture: "Who may import whom"). scripts/check/import-rules.test.ts plants one violation
// of each rule. Tests and helpers of tests may reach anywhere within their own house.
const test = '(\\.test\\.tsx?$|/testing/|/testing\\.ts$)';
const npm = '^node_modules/';

/** Paths of a list of folders under `base`. */
const under = (base, names) => `^${base}/(${names.join('|')})(/|\\.)`;

/** The layers of a house from the lowest up: none may import one above it. */
const layers = (house, base, order) =>
  order.slice(0, -1).map((names, level) => ({
    name: `${house}-${names.join('-')}-imports-upwards`,
    severity: 'error',
    from: { path: under(base, names), pathNot: test },
    to: { path: under(base, order.slice(level + 1).flat()) },
  }));

const forbid = (name, from, to) => ({ name, severity: 'error', from, to });

export default {
  forbidden: [
    forbid('no-circles', { pathNot: npm }, { circular: true, pathNot: npm }),
    forbid('not-resolvable', { pathNot: npm }, { couldNotResolve: true }),

    // shared
    forbid(
      'shared-imports-only-shared-and-zod',
      { path: '^shared/', pathNot: `(^shared/rpc/codec|${test})` },
      { pathNot: '^(shared/|node_modules/zod/)' },
    ),
    forbid(
      'shared-codec-adds-msgpack',
      { path: '^shared/rpc/codec' },
      { pathNot: '^(shared/|node_modules/(zod|@msgpack/msgpack)/)' },
    ),
    ...layers('shared', 'shared', [['program', 'rpc', 'schedules'], ['algorithms'], ['contract']]),
    forbid(
      'shared-program-stands-alone',
      { path: '^shared/program/', pathNot: test },
      { path: '^shared/', pathNot: '^shared/program/' },
    ),
    forbid(
      'shared-rpc-stands-alone',
      { path: '^shared/rpc/', pathNot: test },
      { path: '^shared/', pathNot: '^shared/rpc/' },
    ),

    // renderer
    forbid(
      'renderer-imports-only-shared',
      { path: '^renderer/', pathNot: test },
      { path: '^(electron|native|conformance|bench|test|scripts)/' },
    ),
    forbid('renderer-uses-no-node', { path: '^renderer/', pathNot: test }, { dependencyTypes: ['core'] }),
    ...layers('renderer', 'renderer/src', [['styles'], ['components'], ['screens'], ['app']]),
    forbid(
      'renderer-components-not-data',
      { path: '^renderer/src/(components|styles)/', pathNot: test },
      { path: '^renderer/src/data/' },
    ),
    forbid(
      'renderer-data-not-view',
      { path: '^renderer/src/data/', pathNot: test },
      { path: '^renderer/src/(styles|components|screens|app)/' },
    ),
    forbid(
      'renderer-screen-not-screen',
      { path: '^renderer/src/screens/([^/]+)/', pathNot: test },
      { path: '^renderer/src/screens/[^/]+/', pathNot: '^renderer/src/screens/$1/' },
    ),
    forbid(
      'only-renderer-data-touches-the-client',
      { path: '^renderer/', pathNot: `(^renderer/src/data/|${test})` },
      { path: '^shared/rpc/' },
    ),

    // backend
    ...layers('backend', 'electron/backend', [
      ['text', 'datasets', 'rewards', 'models', 'places', 'system', 'store'],
      ['train', 'chat', 'agent', 'serve'],
      ['runs'],
      ['transport'],
      ['entry'],
    ]),
    forbid(
      'backend-feature-only-by-its-index',
      { path: '^electron/backend/([^/.]+)/', pathNot: test },
      {
        path: '^electron/backend/[^/.]+/',
        pathNot: ['^electron/backend/$1/', '^electron/backend/[^/.]+/index\\.ts$'],
      },
    ),
    forbid(
      'backend-not-hosts',
      { path: '^electron/backend/', pathNot: test },
      { path: '^electron/(main|preload|headless)/' },
    ),
    forbid(
      'main-relays-nothing',
      { path: '^electron/(main|preload)/', pathNot: test },
      { path: '^electron/(backend|headless)/' },
    ),
    forbid(
      'supervise-stands-alone',
      { path: '^electron/supervise/', pathNot: test },
      { path: '^electron/(backend|main|preload|headless)/' },
    ),
    forbid('electron-not-renderer', { path: '^electron/', pathNot: test }, { path: '^renderer/' }),
    // `electron$` would match nothing: the package resolves to a file in its folder.
    forbid(
      'only-main-and-preload-import-electron',
      { pathNot: ['^electron/(main|preload|testing)/', test] },
      { path: '^node_modules/electron/' },
    ),

    // native
    forbid('only-native-index-loads-the-addon', { pathNot: '^native/index\\.ts$' }, { path: '\\.node$' }),
    forbid(
      'native-only-by-its-face',
      { pathNot: '^native/' },
      { path: '^native/', pathNot: '^native/(index|face)\\.ts$' },
    ),
    forbid(
      'engine-only-for-the-backend',
      { path: '^(electron|renderer|shared)/', pathNot: ['^electron/backend/', test] },
      { path: '^native/index\\.ts$' },
    ),
    forbid(
      'native-imports-nobody',
      { path: '^native/', pathNot: test },
      { path: '^(electron|renderer|shared|scripts|conformance|bench|test)/' },
    ),

    // products and their tests
    forbid(
      'product-not-tests',
      { path: '^(electron|renderer|shared|native)/', pathNot: test },
      { path: ['^(e2e|test|conformance|bench|scripts)/', '/testing/', '\\.test\\.tsx?$'] },
    ),
    forbid(
      'product-needs-no-dev-dependency',
      { path: '^(electron|renderer|shared|native)/', pathNot: test },
      {
        dependencyTypes: ['npm-dev'],
        dependencyTypesNot: ['type-only'],
        pathNot: '^node_modules/(electron|@types)/',
      },
    ),
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: {
      extensions: ['.ts', '.tsx', '.mjs', '.js', '.json'],
      exportsFields: ['exports'],
      conditionNames: ['import', 'types', 'node', 'default'],
    },
  },
};
