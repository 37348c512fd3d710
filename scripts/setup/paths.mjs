import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..');
export const cache = join(root, '.cache');

export const devices = ['cpu', 'cuda', 'metal'];

/** The device that a plain command builds for: the GPU of a Mac, else the CPU. CUDA is always asked for. */
export function defaultDevice() {
  return process.platform === 'darwin' ? 'metal' : 'cpu';
}

/** Everything built for one device: `addon/` (movable), `native-tests`, `obj/`. */
export function buildDir(device) {
  return join(root, 'build', device);
}
