// `npm run check:mac`: compiles and links all of native/ for Apple silicon on Linux, against MLX's macOS wheel. It
// proves that the sources build for Metal, not that they run there: a Mac does that (.github/workflows/macos.yml).
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { availableParallelism } from 'node:os';
import { run } from '../setup/exec.mjs';
import { step } from '../setup/log.mjs';
import { buildDir, cache, root } from '../setup/paths.mjs';
import { checkPrerequisites } from '../setup/prerequisites.mjs';
import { fetchTool } from '../setup/tools.mjs';
import { readLock } from '../setup/wheels.mjs';

const target = 'aarch64-macos.14.0';

/** Programs that CMake takes for a compiler and its tools: zig with the target in front. */
function wrappers(zig, folder) {
  mkdirSync(folder, { recursive: true });
  for (const tool of ['cc', 'c++', 'ar', 'ranlib']) {
    const flags = tool.startsWith('c') ? `-target ${target} ` : '';
    const file = join(folder, tool);
    // zig 0.17 crashes on -bundle; a dynamic library of the same objects links alike.
    const bundle = 'for a; do [ "$a" = -bundle ] && a=-dynamiclib; set -- "$@" "$a"; shift; done';
    const text = `#!/bin/sh\n${bundle}\nexec "${zig}" ${tool} ${flags}"$@"\n`;
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
    // Nothing of this build is run: without optimisation it is done in half the time.
    '-DCMAKE_BUILD_TYPE=Debug',
    // zig's float.h gives nothing once its math.h has come first.
    '-DCMAKE_CXX_FLAGS_DEBUG=-O0 -include __float_float.h',
    '-DATELIER_DEVICE=metal',
    `-DMLX_ROOT=${join(mlx, 'mlx')}`,
    `-DADDON_DIR=${join(dir, 'addon')}`,
  ];
  const env = { ZIG_GLOBAL_CACHE_DIR: join(cache, 'zig'), ZIG_LOCAL_CACHE_DIR: join(cache, 'zig') };
  const mark = join(obj, '.configured');
  const build = ['--build', obj, '--parallel', String(availableParallelism())];
  // zig compiles its C++ library while CMake looks at the compiler.
  await step('cross-compiling for a Mac (some minutes the first time)', async () => {
    if (!existsSync(mark) || readFileSync(mark, 'utf8') !== args.join('\n')) {
      rmSync(obj, { recursive: true, force: true });
      await run(tools.cmake, args, { quiet: true, env });
      writeFileSync(mark, args.join('\n'));
    }
    // tests that run beside it come first
    await run('nice', ['-n', '19', tools.cmake, ...build], { quiet: true, env });
  });
}
