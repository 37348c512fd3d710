// A link that leaves symbols open (--unresolved-symbols=ignore-all, and every shared library's) hides a typo until
// the call. This looks each open symbol of the addon up in what will be there at run time. Linux only.
import { createRequire } from 'node:module';
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { SetupError } from '../setup/log.mjs';

function dynamicSymbols(file, which) {
  const text = execFileSync('nm', ['--dynamic', '--format=posix', which, file], {
    encoding: 'utf8',
    maxBuffer: 1 << 28,
  });
  return text
    .split('\n')
    .filter(Boolean)
    .map((line) => line.split(' '))
    .map(([name, type]) => ({ name: name.replace(/@.*$/, ''), type }));
}

/** Paths of the system's libraries with these names, as the loader of this machine finds them. */
function systemLibraries(names) {
  const table = execFileSync('/sbin/ldconfig', ['-p'], { encoding: 'utf8' });
  return names.flatMap((name) => {
    const line = table.split('\n').find((entry) => entry.trim().startsWith(`${name} `));
    const path = line?.split('=> ')[1];
    return path ? [path] : [];
  });
}

/** Functions that Node gives an addon. */
export function nodeApi() {
  const { symbols } = createRequire(import.meta.url)('node-api-headers');
  return Object.values(symbols).flatMap(({ js_native_api_symbols, node_api_symbols }) => [
    ...js_native_api_symbols,
    ...node_api_symbols,
  ]);
}

/**
 * @param {string} addon path of an ELF library @param {string[]} libraries whose exports count
 * @returns {string[]} its open symbols that nobody has, as the linker writes them (weak ones may stay open)
 */
export function openSymbols(addon, libraries) {
  const there = new Set(nodeApi());
  for (const library of libraries)
    for (const { name } of dynamicSymbols(library, '--defined-only')) there.add(name);
  return dynamicSymbols(addon, '--undefined-only')
    .filter(({ name, type }) => type === 'U' && !there.has(name))
    .map(({ name }) => name);
}

/** The libraries beside an addon that it may call, and the system's. */
export function librariesFor(addon) {
  const mlx = join(dirname(addon), 'mlx', 'lib', 'libmlx.so');
  if (!existsSync(mlx)) throw new SetupError(`${mlx} is missing.`, 'npm run setup');
  const beside = join(dirname(addon), 'nvidia');
  const nvidia = existsSync(beside)
    ? readdirSync(beside, { recursive: true, encoding: 'utf8' })
        .filter((name) => /lib(cublas|cublasLt|cudart|nvrtc|cudnn|nccl)\.so/.test(name))
        .map((name) => join(beside, name))
    : [];
  const system = [
    'libc.so.6',
    'libm.so.6',
    'libstdc++.so.6',
    'libgcc_s.so.1',
    'libpthread.so.0',
    'libdl.so.2',
  ];
  const loader = ['ld-linux-x86-64.so.2', 'ld-linux-aarch64.so.1'];
  return [mlx, ...nvidia, ...systemLibraries([...system, ...loader])];
}

/** Throws a SetupError that lists the symbols nobody has. */
export function checkSymbols(addon) {
  const open = openSymbols(addon, librariesFor(addon));
  if (open.length > 0)
    throw new SetupError(
      `${addon} calls ${open.length} function(s) that neither MLX, Node nor the system has:`,
      open.slice(0, 20).join('\n'),
    );
}
