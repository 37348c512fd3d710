// The gates of `npm run check`: each a name and a run that throws where something is wrong.
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { run } from '../setup/exec.mjs';
import { SetupError } from '../setup/log.mjs';
import { buildDir, root } from '../setup/paths.mjs';
import { fetchTool } from '../setup/tools.mjs';
import { readLock } from '../setup/wheels.mjs';
import { includeProblems } from './cpp-includes.mjs';
import { checkMac } from './mac.mjs';
import { checkSymbols } from './symbols.mjs';

const bin = (path) => join(root, 'node_modules', path);
const node = (path, ...args) => run(process.execPath, [bin(path), ...args], { quiet: true });

function cppFiles() {
  const src = join(root, 'native', 'src');
  return readdirSync(src, { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.(h|cpp|mm)$/.test(name))
    .map((name) => join(src, name));
}

/** Path of the pinned clang-format. */
async function clangFormat() {
  const wheel = await fetchTool(readLock('tools.lock').find(({ name }) => name === 'clang-format'));
  const program = join(wheel, 'clang_format', 'data', 'bin', 'clang-format');
  await run('chmod', ['+x', program]);
  return program;
}

export async function formatAll() {
  await node('prettier/bin/prettier.cjs', '--write', '--log-level', 'warn', '.');
  await run(await clangFormat(), ['-i', ...cppFiles()]);
}

/** Cross-compiling for a Mac: not part of `check`, for it takes minutes the first time. */
export const macGate = async () => {
  if (process.platform === 'linux') await checkMac();
};

export const gates = {
  format: async () => {
    await node('prettier/bin/prettier.cjs', '--check', '--log-level', 'warn', '.');
    await run(await clangFormat(), ['--dry-run', '--Werror', ...cppFiles()], { quiet: true });
  },
  // the types of every file with its own project's settings, and the rules
  lint: () => node('oxlint/bin/oxlint', '--type-aware', '--type-check', '--deny-warnings', '--quiet'),
  imports: () =>
    node(
      'dependency-cruiser/bin/dependency-cruise.mjs',
      ...['--config', '.dependency-cruiser.mjs', '--output-type', 'err'],
      ...['shared', 'renderer', 'electron', 'native', 'conformance', 'bench', 'test', 'e2e'].filter((name) =>
        existsSync(join(root, name)),
      ),
    ),
  'dead-code': () => node('knip/bin/knip.js', '--no-progress'),
  includes: async () => {
    const problems = includeProblems(join(root, 'native', 'src'));
    if (problems.length > 0)
      throw new SetupError('Includes against the arrows of native/src:', problems.join('\n'));
  },
  symbols: async (device) => {
    if (process.platform === 'linux') checkSymbols(join(buildDir(device), 'addon', 'atelier.node'));
  },
};
