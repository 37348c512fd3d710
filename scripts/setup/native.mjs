// The addon for one device: its libraries beside it, CMake configured, everything built.
import { availableParallelism } from 'node:os';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { buildDir, root } from './paths.mjs';
import { run } from './exec.mjs';
import { say, step, SetupError } from './log.mjs';
import { cudaBuildLibraries } from './cuda.mjs';
import { placeTree } from './place.mjs';
import { readLock, unpackWheel } from './wheels.mjs';

/** Fetches the device's wheels and lays the libraries where the addon finds them. @returns CMake's paths */
async function libraries(device, addonDir) {
  if (device === 'cpu' && process.platform === 'darwin')
    throw new SetupError(
      'On a Mac the addon is built for metal; it offers the CPU too.',
      'Leave out --device.',
    );
  if (device === 'metal' && process.platform !== 'darwin')
    throw new SetupError('The device metal is there on macOS only.', 'Here: --device cpu or --device cuda.');
  if (device === 'cuda') return cudaBuildLibraries(addonDir);
  const [mlx, blas] = await Promise.all(readLock(`wheels-${device}.lock`).map((line) => unpackWheel(line)));
  placeTree(join(mlx, 'mlx', 'lib'), join(addonDir, 'mlx', 'lib'), (name) =>
    /\.(so|dylib|metallib)/.test(name),
  );
  const paths = { MLX_ROOT: join(mlx, 'mlx') };
  if (device === 'cpu') {
    placeTree(join(blas, 'scipy_openblas32', 'lib'), join(addonDir, 'mlx_cpu.libs'), (name) =>
      name.endsWith('.so'),
    );
    paths.OPENBLAS_ROOT = join(blas, 'scipy_openblas32');
  }
  return paths;
}

/** Configures when something that CMake was told has changed, or when an earlier configuring was cut short. */
async function configure(device, tools, paths) {
  const obj = join(buildDir(device), 'obj');
  const args = [
    ...['-S', join(root, 'native'), '-B', obj, '-G', tools.generator],
    `-DCMAKE_CXX_COMPILER=${tools.compiler}`,
    `-DATELIER_DEVICE=${device}`,
    `-DADDON_DIR=${join(buildDir(device), 'addon')}`,
    ...Object.entries(paths).map(([name, path]) => `-D${name}=${path}`),
  ];
  const mark = join(obj, '.configured');
  const asked = args.join('\n');
  if (existsSync(mark) && readFileSync(mark, 'utf8') === asked) return;
  // Another generator or compiler cannot be changed in place.
  rmSync(obj, { recursive: true, force: true });
  await step(`configuring the ${device} build (${tools.compiler}, ${tools.generator})`, () =>
    run(tools.cmake, args, { quiet: true }),
  );
  writeFileSync(mark, asked);
}

/** Builds the addon of one device, and its tests where they are wanted; returns after a moment when nothing changed. */
export async function buildNative(device, tools, { tests }) {
  const dir = buildDir(device);
  mkdirSync(dir, { recursive: true });
  await configure(device, tools, await libraries(device, join(dir, 'addon')));
  const args = ['--build', join(dir, 'obj'), '--parallel', String(availableParallelism())];
  if (!tests) args.push('--target', 'addon');
  const fresh = !existsSync(join(dir, 'addon', 'atelier.node'));
  if (fresh) say(`building the engine for ${device} (first time: some minutes on 2 cores)`);
  // With ccache: objects of another checkout are as good as ours.
  await run(tools.cmake, args, { env: { CCACHE_BASEDIR: root, CCACHE_NOHASHDIR: '1' } });
}
