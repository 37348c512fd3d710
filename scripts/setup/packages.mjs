// npm's packages: installed by the lock file, and better-sqlite3 compiled for this Node.
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { root } from './paths.mjs';
import { run } from './exec.mjs';
import { step, SetupError } from './log.mjs';

const readJson = (file) => JSON.parse(readFileSync(file, 'utf8'));

/**
 * Whether an installation is what the lock file asks for. npm writes its own record last, so that a cut-short
 * installation has none. Packages for other platforms may be missing.
 * @param {object} wanted package-lock.json @param {object} record node_modules/.package-lock.json
 */
export function installed(wanted, record) {
  return Object.entries(wanted.packages).every(([path, { version, optional, devOptional, peer }]) => {
    if (path === '') return true;
    const there = record.packages[path];
    return there ? there.version === version : Boolean(optional || devOptional || peer);
  });
}

/** npm's headers of this Node, where they are on the machine: node-gyp fetches them otherwise. */
function nodeHeaders() {
  const prefix = dirname(dirname(process.execPath));
  const header = join(prefix, 'include', 'node', 'node_version.h');
  if (!existsSync(header)) return {};
  const major = /#define NODE_MAJOR_VERSION (\d+)/.exec(readFileSync(header, 'utf8'))?.[1];
  return major === process.versions.node.split('.')[0] ? { npm_config_nodedir: prefix } : {};
}

export async function installPackages() {
  const record = join(root, 'node_modules', '.package-lock.json');
  if (existsSync(record) && installed(readJson(join(root, 'package-lock.json')), readJson(record))) return;
  await step('installing npm packages', async () => {
    rmSync(record, { force: true });
    // Install scripts: only better-sqlite3's is needed, and it runs beside the engine's build.
    await run('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'], {
      quiet: true,
    });
  });
}

function sqliteWorks() {
  try {
    const Database = createRequire(join(root, 'package.json'))('better-sqlite3');
    new Database(':memory:').close();
    return true;
  } catch {
    return false;
  }
}

/** Compiles SQLite's addon unless this Node can load it; another Node's build is replaced. */
export async function buildSqlite() {
  if (sqliteWorks()) return;
  // One source of a quarter of a million lines: -O3, its own choice, takes three times as long, and what it speeds up
  // is not where a run's time goes.
  const env = { ...nodeHeaders(), CFLAGS: `${process.env.CFLAGS ?? ''} -O1` };
  await step('compiling SQLite for this Node (about a minute)', () =>
    run('npm', ['rebuild', 'better-sqlite3', '--loglevel=error'], { quiet: true, env }),
  );
  // A failed dlopen is not tried again in the same process.
  const check = "const D = require('better-sqlite3'); new D(':memory:').close()";
  await run(process.execPath, ['-e', check], { quiet: true }).catch(() => {
    throw new SetupError(
      'better-sqlite3 was compiled but does not load.',
      'rm -rf node_modules, then try again.',
    );
  });
}
