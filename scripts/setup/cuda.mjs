// --device cuda: MLX's CUDA wheel to build with, and NVIDIA's libraries to run with.
import { existsSync, lstatSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { outputOf } from './exec.mjs';
import { say } from './log.mjs';
import { placeTree } from './place.mjs';
import { readLock, unpackWheel } from './wheels.mjs';

/** What libmlx opens at run time, headers for the kernels that it compiles then, by path in Python's folder nvidia/. */
const opened = [
  'cu13/lib/libcublasLt.so.13',
  'cu13/lib/libcufft.so.12',
  'cu13/lib/libcusolver.so.12',
  'cu13/lib/libnvrtc.so.13',
  'cudnn/lib/libcudnn.so.9',
  'nccl/lib/libnccl.so.2',
  'cu13/include/cuda_runtime.h',
  'cu13/include/crt/mma.h',
];

/** MLX's library, and its headers: its kernels are compiled at run time and read them. @returns CMake's paths */
export async function cudaBuildLibraries(addonDir) {
  const mlx = await unpackWheel(readLock('wheels-cuda.lock').find(({ name }) => name === 'mlx-cuda-13'));
  placeTree(join(mlx, 'mlx', 'lib'), join(addonDir, 'mlx', 'lib'));
  placeTree(join(mlx, 'mlx', 'include'), join(addonDir, 'mlx', 'include'));
  placeTree(join(mlx, 'mlx_cuda_13.libs'), join(addonDir, 'mlx_cuda_13.libs'));
  return { MLX_ROOT: join(mlx, 'mlx') };
}

/** NVIDIA's libraries in Python's site-packages, when all that is needed is there. */
function nvidiaInPython() {
  const folder = outputOf('python3', ['-c', 'import nvidia; print(list(nvidia.__path__)[0])']);
  return folder && opened.every((file) => existsSync(join(folder, file))) ? folder : null;
}

/** Lays NVIDIA's libraries where libmlx's rpath finds them: addon/nvidia. */
export async function cudaRunLibraries(addonDir) {
  const target = join(addonDir, 'nvidia');
  if (opened.every((file) => existsSync(join(target, file)))) return;
  const there = nvidiaInPython();
  if (there) {
    say(`NVIDIA’s libraries: those of Python (${there})`);
    rmSync(target, { recursive: true, force: true });
    symlinkSync(there, target);
    return;
  }
  if (existsSync(target) && lstatSync(target).isSymbolicLink()) rmSync(target);
  say('NVIDIA’s libraries are fetched as Python wheels: about 2 GB, once');
  for (const requirement of readLock('wheels-cuda.lock').filter(({ name }) => name.startsWith('nvidia-'))) {
    const wheel = await unpackWheel(requirement, { loud: true });
    placeTree(join(wheel, 'nvidia'), target, (name) => /\.so(\.\d+)*$/.test(name));
    if (requirement.name.startsWith('nvidia-cuda-'))
      placeTree(join(wheel, 'nvidia', 'cu13', 'include'), join(target, 'cu13', 'include'));
  }
}
