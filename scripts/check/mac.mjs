// `npm run check:mac`: compiles and links all of native/ for Apple silicon on Linux, against MLX's macOS wheel. It
// proves that the sources build for Metal, not that they run there: a Mac does that (.github/workflows/macos.yml).
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { availableParallelism } from 'node:os';
import { run } from '../setup/exec.mjs';
import { SetupError, step } from '../setup/log.mjs';
import { buildDir, cache, root } from '../setup/paths.mjs';
import { checkPrerequisites } from '../setup/prerequisites.mjs';
import { fetchTool } from '../setup/tools.mjs';
import { readLock } from '../setup/wheels.mjs';
import { openMacSymbols } from './mach-o.mjs';

const target = 'aarch64-macos.14.0';

/** Programs that CMake takes for a compiler and its tools: zig with the target in front. */
function wrappers(zig, folder) {
  mkdirSync(folder, { recursive: true });
  for (const tool of ['cc', 'c++', 'ar', 'ranlib']) {
    const compiler = tool.startsWith('c');
    const text = `#!/bin/sh
link=${compiler ? '-nostdlib++' : ''}
for a; do
  shift
  case "$a" in
    # zig would compile a C++ library to link with, for minutes; a Mac has its own
    -c | -E) link= ;;
    # zig 0.17 crashes on it; a dynamic library of the same objects links alike
    -bundle) a=-dynamiclib ;;
  esac
  set -- "$@" "$a"
done
exec "${zig}" ${tool} ${compiler ? `-target ${target}` : ''} $link "$@"
`;
    const file = join(folder, tool);
    if (!existsSync(file) || readFileSync(file, 'utf8') !== text) writeFileSync(file, text, { mode: 0o755 });
  }
  return folder;
}

export async function checkMac() {
  const tools = checkPrerequisites();
  const zig = await fetchTool(readLock('tools.lock').find(({ name }) => name === 'ziglang'));
  const mlx = await fetchTool(readLock('wheels-metal.lock')[0], { platform: 'macosx_14_0_arm64' });
  const program = join(zig, 'ziglang', 'zig');
  await run('chmod', ['+x', program]);
  const dir = buildDir('mac-check');
  const bin = wrappers(program, join(dir, 'bin'));
  const obj = join(dir, 'obj');
  const args = [
    ...['-S', join(root, 'native'), '-B', obj, '-G', tools.generator],
    ...['-DCMAKE_SYSTEM_NAME=Darwin', '-DCMAKE_SYSTEM_PROCESSOR=arm64', '-DCMAKE_OSX_SYSROOT='],
    ...['cc', 'c++'].map((tool, k) => `-DCMAKE_${['C', 'CXX'][k]}_COMPILER=${join(bin, tool)}`),
    ...['ar', 'ranlib'].map((tool) => `-DCMAKE_${tool.toUpperCase()}=${join(bin, tool)}`),
    // Nothing of this build is run: without what zig adds of its own accord it is done in a quarter of the time.
    // And zig's float.h gives nothing once its math.h has come first.
    '-DCMAKE_BUILD_TYPE=Debug',
    '-DCMAKE_CXX_FLAGS_DEBUG=-O0 -g0 -fno-sanitize=undefined -include __float_float.h',
    '-DCMAKE_EXE_LINKER_FLAGS=-Wl,-undefined,dynamic_lookup',
    '-DATELIER_DEVICE=metal',
    `-DMLX_ROOT=${join(mlx, 'mlx')}`,
    `-DADDON_DIR=${join(dir, 'addon')}`,
  ];
  const env = { ZIG_GLOBAL_CACHE_DIR: join(cache, 'zig'), ZIG_LOCAL_CACHE_DIR: join(cache, 'zig') };
  const mark = join(obj, '.configured');
  const build = ['--build', obj, '--parallel', String(availableParallelism())];
  await step('cross-compiling for a Mac (some minutes the first time)', async () => {
    if (!existsSync(mark) || readFileSync(mark, 'utf8') !== args.join('\n')) {
      rmSync(obj, { recursive: true, force: true });
      await run(tools.cmake, args, { quiet: true, env });
      writeFileSync(mark, args.join('\n'));
    }
    // tests that run beside it come first
    await run('nice', ['-n', '19', tools.cmake, ...build], { quiet: true, env });
  });
  for (const binary of ['addon/atelier.node', 'native-tests']) {
    const open = openMacSymbols(join(dir, binary), [join(mlx, 'mlx', 'lib', 'libmlx.dylib')]);
    if (open.length > 0)
      throw new SetupError(
        `For a Mac, ${binary} calls ${open.length} function(s) that neither MLX, Node nor the system has:`,
        open.slice(0, 20).join('\n'),
      );
  }
}
